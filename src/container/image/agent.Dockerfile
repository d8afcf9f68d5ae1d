# The layer of an agent, on top of the environment that all agents share: the Dockerfile at the top of this package.
# The rules and the settings of the network are those of that file. Only the agent's folder is taken over, so nothing
# else of the build stays.
ARG ENVIRONMENT

FROM ${ENVIRONMENT} AS build
USER root
# What is left of this stage for later builds has no name; by this "cai prune" finds it.
LABEL containai.stage=agent
COPY agent.Dockerfile npm-install.cjs network* registry* /run/cai-build/

# Names of npm packages, each with its version: src/agent/catalog.ts has them for each agent.
ARG PACKAGES=""

RUN set -eu; \
    mkdir -p /usr/local/lib/cai/agent/bin; \
    if [ -n "${PACKAGES}" ]; then \
      if [ -s /run/cai-build/ca.pem ]; then export NODE_EXTRA_CA_CERTS=/run/cai-build/ca.pem; fi; \
      NPM_CONFIG_USERCONFIG=/run/cai-build/npmrc \
        node /run/cai-build/npm-install.cjs /usr/local/lib/cai/agent ${PACKAGES}; \
    fi

# An agent of the ACP registry.
RUN if [ -s /run/cai-build/registry-agent.sh ]; then sh /run/cai-build/registry-agent.sh; fi

# The adapter carries the Claude command line with it, which is what one signs in with. Its older name is
# taken as well.
RUN set -eu; \
    cd /usr/local/lib/cai/agent/bin; \
    if [ -e claude-code-acp ] && [ ! -e claude-agent-acp ]; then ln -s claude-code-acp claude-agent-acp; \
    elif [ -e claude-agent-acp ] && [ ! -e claude ]; then \
      printf '#!/bin/sh\nexec claude-agent-acp --cli "$@"\n' > claude; \
      chmod 755 claude; \
    fi

FROM ${ENVIRONMENT}
COPY --from=build /usr/local/lib/cai/agent /usr/local/lib/cai/agent
ENV PATH=/usr/local/lib/cai/agent/bin:${PATH}
LABEL org.opencontainers.image.title="containai"
