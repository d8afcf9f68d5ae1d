# The image that agents run in: `cai build` makes it, and so does `docker build .` here.
#
# Only what every builder understands. Settings of the network come in by the folder network/ of the build
# context (ca.pem: certificates to trust as well; npmrc: settings of npm; both may be missing) and by Docker's
# predefined proxy arguments. The last stage begins with nothing and takes the finished files over in one
# go: no certificate, registry or proxy is left in the image, in one of its layers or in its history.
ARG BASE_IMAGE=node:22-bookworm-slim

FROM ${BASE_IMAGE} AS build
USER root

# The Dockerfile is named because a pattern alone may not come out empty.
COPY Dockerfile network* /run/cai-build/

# Daemons must not be started: a build can share the network of the machine. Host keys made here would be
# the same in every container. Who cannot read sshd cannot trace it either, and so take a session over.
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
      bash ca-certificates curl file git jq less make openssh-server patch perl procps python3 ripgrep \
      unzip xz-utils; \
    rm -rf /etc/ssh/ssh_host_* /usr/sbin/policy-rc.d /var/cache/apt/* /var/cache/debconf/*-old \
      /var/lib/apt/lists/* /var/log/*; \
    chmod 0711 /usr/sbin/sshd; \
    mkdir -p /run/sshd

# Names of npm packages, each with its version. src/agent/catalog.ts has the same for each agent.
ARG PACKAGES="@agentclientprotocol/claude-agent-acp@0.100.0 @google/gemini-cli@0.61.0"

RUN set -eu; \
    if [ -n "${PACKAGES}" ]; then \
      if [ -s /run/cai-build/ca.pem ]; then export NODE_EXTRA_CA_CERTS=/run/cai-build/ca.pem; fi; \
      NPM_CONFIG_USERCONFIG=/run/cai-build/npmrc \
        npm install --global --no-audit --no-fund --no-update-notifier ${PACKAGES}; \
    fi; \
    rm -rf /root/.cache /root/.npm /tmp/* /run/cai-build /etc/apt/apt.conf.d/99cai-build

# The adapter carries the Claude command line with it, which is what one signs in with. Its older name is
# taken as well.
RUN set -eu; \
    link() { if ! command -v "$1" && command -v "$2"; then ln -s "$(command -v "$2")" "/usr/local/bin/$1"; fi; }; \
    if command -v claude-agent-acp && ! command -v claude; then \
      printf '#!/bin/sh\nexec claude-agent-acp --cli "$@"\n' > /usr/local/bin/claude; \
      chmod 755 /usr/local/bin/claude; \
    fi; \
    link claude-agent-acp claude-code-acp; \
    mkdir -p /etc/gemini-cli /etc/qwen-code; \
    echo '{"general":{"enableAutoUpdate":false,"enableAutoUpdateNotification":false}}' \
      | tee /etc/gemini-cli/settings.json > /etc/qwen-code/settings.json

FROM scratch
COPY --from=build / /

# What the base image has as PATH; `cai build` passes it on.
ARG BASE_PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

# Agents that replace themselves would do so in one container only, and without being asked.
ENV PATH=${BASE_PATH} \
    LANG=C.UTF-8 \
    DISABLE_AUTOUPDATER=1 \
    OPENCODE_DISABLE_AUTOUPDATE=1 \
    COPILOT_AUTO_UPDATE=false

LABEL org.opencontainers.image.title="containai"
