# The environment that agents work in. `cai build` makes it, and puts the layer of an agent on top of it:
# src/container/image/agent.Dockerfile.
#
# Only what every builder understands. Settings of the network come in by the folder network/ of the build
# context (ca.pem: certificates to trust as well; npmrc: settings of npm; pip.conf: settings of pip; each may be
# missing) and by Docker's predefined proxy arguments. The last stage begins with nothing and takes the finished files
# over in one go: no certificate, registry or proxy is left in the image, in one of its layers or in its history.
ARG BASE_IMAGE=node:22-bookworm-slim

FROM ${BASE_IMAGE} AS build
USER root
# What is left of this stage for later builds has no name; by this "cai prune" finds it.
LABEL containai.stage=environment

# The Dockerfile is named because a pattern alone may not come out empty.
COPY Dockerfile network* /run/cai-build/

# Packages of Debian that the user adds.
ARG APT=""

# Daemons must not be started: a build can share the network of the machine. Host keys made here would be
# the same in every container. Who cannot read a program cannot trace it either: sshd, and so take a session over,
# or the perl that a cluster starts to list processes.
RUN set -eu; \
    chmod -R a+rX /run/cai-build; \
    if [ -s /run/cai-build/ca.pem ]; then \
      cat /etc/ssl/certs/ca-certificates.crt /run/cai-build/ca.pem > /run/cai-build/all.pem 2> /dev/null || true; \
      echo 'Acquire::https::CAInfo "/run/cai-build/all.pem";' > /etc/apt/apt.conf.d/99cai-build; \
    fi; \
    printf '#!/bin/sh\nexit 101\n' > /usr/sbin/policy-rc.d; \
    chmod +x /usr/sbin/policy-rc.d; \
    apt-get -o Acquire::Retries=3 update; \
    DEBIAN_FRONTEND=noninteractive apt-get -o Acquire::Retries=3 install -y --no-install-recommends \
      bash build-essential ca-certificates curl file gh git jq less make openssh-server patch perl pipx pkg-config \
      procps python3 python3-pip python3-venv ripgrep unzip vim-tiny wget xz-utils ${APT}; \
    rm -rf /etc/ssh/ssh_host_* /usr/sbin/policy-rc.d /var/cache/apt/* /var/cache/debconf/*-old \
      /var/lib/apt/lists/* /var/log/*; \
    chmod 0711 /usr/sbin/sshd; \
    install -D -m 0711 /usr/bin/perl /usr/local/lib/cai/perl; \
    mkdir -p /run/sshd

# Debian has no uv.
ARG PIP="uv==0.12.9"
RUN set -eu; \
    if [ -n "${PIP}" ]; then \
      if [ -s /run/cai-build/all.pem ]; then export PIP_CERT=/run/cai-build/all.pem; fi; \
      if [ -s /run/cai-build/pip.conf ]; then export PIP_CONFIG_FILE=/run/cai-build/pip.conf; fi; \
      python3 -m pip install --break-system-packages --no-cache-dir --disable-pip-version-check \
        --root-user-action=ignore ${PIP}; \
    fi

# npm packages that the user adds.
ARG NPM=""
RUN set -eu; \
    if [ -n "${NPM}" ]; then \
      if [ -s /run/cai-build/ca.pem ]; then export NODE_EXTRA_CA_CERTS=/run/cai-build/ca.pem; fi; \
      NPM_CONFIG_USERCONFIG=/run/cai-build/npmrc \
        npm install --global --no-audit --no-fund --no-update-notifier ${NPM}; \
    fi

# Who asks for root is told what to do instead.
RUN set -eu; \
    if ! command -v sudo > /dev/null; then \
      printf '#!/bin/sh\necho "%s" >&2\nexit 1\n' "sudo: nobody becomes root in this container. The user of \
this machine adds Debian packages by 'cai image add PACKAGE' and 'cai build AGENT', and all else by a Dockerfile, as \
docs/containers.md of containai tells: say what is missing." > /usr/local/bin/sudo; \
      chmod 755 /usr/local/bin/sudo; \
    fi

# The container is the sandbox. Programs that look for Chrome find Chromium.
RUN set -eu; \
    if [ -d /etc/chromium.d ]; then \
      echo 'CHROMIUM_FLAGS="$CHROMIUM_FLAGS --no-sandbox"' > /etc/chromium.d/cai; \
      mkdir -p /opt/google/chrome; \
      ln -s /usr/bin/chromium /opt/google/chrome/chrome; \
    fi

# Agents that replace themselves would do so in one container only, and without being asked.
RUN set -eu; \
    rm -rf /root/.cache /root/.npm /tmp/* /run/cai-build /etc/apt/apt.conf.d/99cai-build; \
    mkdir -p /etc/gemini-cli /etc/qwen-code; \
    echo '{"general":{"enableAutoUpdate":false,"enableAutoUpdateNotification":false}}' \
      | tee /etc/gemini-cli/settings.json > /etc/qwen-code/settings.json

FROM scratch
COPY --from=build / /

# What the base image has as PATH; `cai build` passes it on.
ARG BASE_PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

ENV PATH=${BASE_PATH} \
    LANG=C.UTF-8 \
    DISABLE_AUTOUPDATER=1 \
    OPENCODE_DISABLE_AUTOUPDATE=1 \
    COPILOT_AUTO_UPDATE=false

LABEL org.opencontainers.image.title="containai environment"
