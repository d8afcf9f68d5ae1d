# Makes the image of a development container an environment that agents work in. The rules are those of the Dockerfile
# at the top of this package, but that the image keeps its layers, its variables and its labels: with them the
# certificates of [network] stay in a layer.
ARG BASE_IMAGE
ARG DEVCONTAINER

FROM ${BASE_IMAGE} AS node
USER root
LABEL containai.stage=devcontainer
RUN set -eu; \
    mkdir -p /cai-node/bin /cai-node/lib/node_modules; \
    cp "$(command -v node)" /cai-node/bin/node; \
    cp -R "$(npm root --global)/npm" /cai-node/lib/node_modules/npm; \
    for name in npm npx; do ln -s "../lib/node_modules/npm/bin/${name}-cli.js" "/cai-node/bin/${name}"; done

FROM ${DEVCONTAINER} AS own-node
USER root
LABEL containai.stage=devcontainer
COPY set-up /run/cai-build/
COPY --from=node /cai-node /run/cai-build/node
RUN sh /run/cai-build/set-up node

FROM ${DEVCONTAINER}
USER root
COPY set-up network* /run/cai-build/
ARG USER_NAME
ARG NEW_UID
ARG NEW_GID
RUN sh /run/cai-build/set-up all
COPY --from=own-node /usr/local/lib/cai/node /usr/local/lib/cai/node

# The folder is empty where the image brings a recent Node. Agents that replace themselves would do so in one
# container only, and without being asked.
ENV PATH=/usr/local/lib/cai/node/bin:${PATH} \
    DISABLE_AUTOUPDATER=1 \
    OPENCODE_DISABLE_AUTOUPDATE=1 \
    COPILOT_AUTO_UPDATE=false
