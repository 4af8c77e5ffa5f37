#!/usr/bin/env bash
# A container engine for the tests of the images, on a Debian or Ubuntu machine that has none.
#
#   docker/engine.sh run COMMAND...   run a command with an engine, and stop the engine afterwards
#   docker/engine.sh up               start one; prints the line that tells the docker command where it is
#   docker/engine.sh down             stop it, and undo what it changed in the machine's network
#
# An engine that answers already is used as it is and left alone. Otherwise, as root, docker.io is installed by apt and a
# private engine is started, with its own socket and data below OPENENV_ENGINE_DIR (/var/cache/openenv-engine), which is
# kept: the next start finds what was built. Where the image that our Dockerfiles start from cannot be pulled, a stand-in
# for it is made of Debian packages and this machine's CPython 3.12.
set -euo pipefail

DIR=${OPENENV_ENGINE_DIR:-/var/cache/openenv-engine}
SOCKET=unix://$DIR/docker.sock
BASE=python:3.12-slim
PYTHON_VERSION=3.12
PACKAGES=(docker.io iptables iproute2 mmdebstrap zstd docker-compose)

say() { printf 'engine: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

# Debian's own command comes with BuildKit built in; others need a plugin that may be missing.
docker_command() { if [ -x /usr/bin/docker ]; then echo /usr/bin/docker; else command -v docker; fi; }
answers() { local docker; docker=$(docker_command) && DOCKER_HOST=$1 timeout 20 "$docker" version >/dev/null 2>&1; }

# The address of an engine that answers: the one that is asked for, the system's, or ours.
find_engine() {
  local host
  for host in "${DOCKER_HOST:-}" unix:///var/run/docker.sock "$SOCKET"; do
    [ -n "$host" ] && answers "$host" && echo "$host" && return 0
  done
  return 1
}

# ---- starting

install_packages() {
  local missing=() name
  for name in "${PACKAGES[@]}"; do dpkg -s "$name" >/dev/null 2>&1 || missing+=("$name"); done
  [ ${#missing[@]} -eq 0 ] && return 0
  say "installing ${missing[*]} ..."
  export DEBIAN_FRONTEND=noninteractive
  local apt=(apt-get -qq -o DPkg::Lock::Timeout=300)
  "${apt[@]}" update >"$DIR/apt.log" 2>&1 &&
    "${apt[@]}" install -y --no-install-recommends "${missing[@]}" >>"$DIR/apt.log" 2>&1 ||
    fail "apt failed: $(tail -3 "$DIR/apt.log")"
}

# What a killed engine left behind: pid files, which stop the next one, and mounts.
tidy() {
  local file pid
  for file in "$DIR/docker.pid" "$DIR/exec/containerd/containerd.pid"; do
    pid=$(cat "$file" 2>/dev/null) || continue
    case $(tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null || true) in *"$DIR"*) ;; *) rm -f "$file" ;; esac
  done
  umount "$DIR/exec/netns/default" 2>/dev/null || true
}

# What outlives this script must not hold what the caller has open: a lock, a pipe.
alone() {
  local descriptor
  for descriptor in /proc/$BASHPID/fd/*; do
    descriptor=${descriptor##*/}
    [ "$descriptor" -le 2 ] || eval "exec $descriptor>&-"
  done
  exec setsid nohup "$@"
}

start() {
  tidy
  # How the machine's network is before: `down` puts it back.
  if ! ip link show docker0 >/dev/null 2>&1; then
    cat /proc/sys/net/ipv4/ip_forward >"$DIR/forward.before"
    iptables -S FORWARD | awk '/^-P/ {print $3}' >"$DIR/policy.before"
  fi
  local device mtu engine
  device=$(ip -o route show default | awk '{for (i = 1; i < NF; i++) if ($i == "dev") {print $(i + 1); exit}}')
  mtu=$(cat "/sys/class/net/${device:-lo}/mtu" 2>/dev/null || echo 1500)
  [ "$mtu" -le 1500 ] || mtu=1500
  alone dockerd --data-root "$DIR/data" --exec-root "$DIR/exec" --pidfile "$DIR/docker.pid" --host "$SOCKET" \
    --mtu "$mtu" --ip 127.0.0.1 >"$DIR/dockerd.log" 2>&1 </dev/null &
  engine=$!
  for _ in $(seq 120); do
    answers "$SOCKET" && return 0
    kill -0 "$engine" 2>/dev/null || break
    sleep 0.25
  done
  fail "dockerd does not start: $(tail -5 "$DIR/dockerd.log")"
}

up() {
  local host
  if ! host=$(find_engine); then
    [ "$(id -u)" = 0 ] || fail "no container engine answers, and only root can start one here"
    command -v apt-get >/dev/null || fail "no container engine answers, and without apt none can be installed"
    mkdir -p "$DIR"
    install_packages
    start
    host=$SOCKET
    say "started, in $DIR"
  fi
  DOCKER_HOST=$host provide_base
  echo "$host"
}

# ---- the image that ours start from

provide_base() {
  local docker; docker=$(docker_command)
  "$docker" image inspect "$BASE" >/dev/null 2>&1 && return 0
  timeout 300 "$docker" pull "$BASE" >/dev/null 2>&1 && return 0
  [ "$(id -u)" = 0 ] && command -v mmdebstrap >/dev/null ||
    fail "$BASE cannot be pulled, and a stand-in for it takes root and mmdebstrap"
  say "$BASE cannot be pulled: making a stand-in ..."
  mkdir -p "$DIR"
  local archive; archive=$DIR/base-$(base_key).tar.zst
  [ -s "$archive" ] || make_base "$archive"
  zstd -dcq "$archive" | "$docker" import \
    -c 'ENV PATH=/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin' -c 'ENV LANG=C.UTF-8' -c 'CMD ["python3"]' \
    - openenv-base:bare >/dev/null
  add_registries
}

base_key() { { cat /etc/os-release; python_home; declare -f make_base; } | sha256sum | cut -c1-12; }

# Where this machine has a CPython of that version that can be copied: one that lives in a folder of its own.
python_home() {
  local program home
  for program in "$(command -v "python$PYTHON_VERSION" || true)" \
    "${PYENV_ROOT:-$HOME/.pyenv}/versions/$PYTHON_VERSION"*/bin/"python$PYTHON_VERSION"; do
    [ -x "$program" ] || continue
    home=$("$program" -c 'import sys; print(sys.base_prefix)' 2>/dev/null) || continue
    [ "$home" != /usr ] && echo "$home" && return 0
  done
  return 1
}

# The Debian packages of the libraries that a CPython is linked with.
libraries_of() {
  local library real
  ldd "$1/bin/python$PYTHON_VERSION" "$1/lib/python$PYTHON_VERSION/lib-dynload/"*.so 2>/dev/null |
    awk '$2 == "=>" && $3 ~ /^\// {print $3}' | sort -u | while read -r library; do
      real=$(readlink -f "$library")
      dpkg -S "$real" 2>/dev/null || dpkg -S "${real#/usr}" 2>/dev/null || true
    done | cut -d: -f1 | sort -u | grep -vE '^(libtk|libtcl|libx|tk)' | paste -sd,
}

make_base() {
  local home root name=python$PYTHON_VERSION sources=/etc/apt/sources.list.d/debian.sources
  home=$(python_home) || fail "there is no CPython $PYTHON_VERSION here to make $BASE of"
  [ -s "$sources" ] || sources=/etc/apt/sources.list
  root=$(mktemp -d "$DIR/root.XXXXXX"); chmod 755 "$root"
  mmdebstrap --quiet --mode=root --variant=minbase --format=directory \
    --include="ca-certificates,netbase,tzdata,$(libraries_of "$home")" --aptopt='Acquire::Languages "none"' \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-include=/usr/share/doc/*/copyright' \
    --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
    "$(. /etc/os-release && echo "$VERSION_CODENAME")" "$root" - <"$sources" >"$DIR/mmdebstrap.log" 2>&1 ||
    fail "mmdebstrap failed: $(tail -3 "$DIR/mmdebstrap.log")"
  # The layout of the official image: everything of Python below /usr/local, without its tests and windows.
  (
    cd "$home"
    shopt -s nullglob
    tar -cf - --exclude=__pycache__ --exclude="lib/$name/site-packages/*" --exclude='*.a' --exclude="lib/$name/config-*" \
      --exclude="lib/$name/"{test,idlelib,tkinter,turtledemo} --exclude='_tkinter*' --exclude='_test*.so' \
      "bin/$name" "lib/$name" "include/$name" lib/libpython3*.so*
  ) | tar -xpf - -C "$root/usr/local"
  ln -sf "$name" "$root/usr/local/bin/python3"
  ln -sf python3 "$root/usr/local/bin/python"
  if command -v strip >/dev/null; then
    find "$root/usr/local" -name '*.so*' -type f -exec strip --strip-unneeded {} + 2>/dev/null || true
    strip --strip-unneeded "$root/usr/local/bin/$name" 2>/dev/null || true
  fi
  chroot "$root" ldconfig
  chroot "$root" env -i PATH=/usr/local/bin:/usr/bin:/bin python -I -m ensurepip --default-pip >/dev/null 2>&1
  find "$root/usr" -name __pycache__ -prune -exec rm -rf {} +
  # As in Debian's images: apt leaves nothing behind.
  printf '%s\n' 'APT::Keep-Downloaded-Packages "false";' 'Dir::Cache::pkgcache "";' 'Dir::Cache::srcpkgcache "";' \
    'DPkg::Post-Invoke { "rm -f /var/cache/apt/archives/*.deb || true"; };' >"$root/etc/apt/apt.conf.d/docker-clean"
  : >"$root/etc/resolv.conf"
  rm -f "$root/etc/hostname"
  tar --numeric-owner -cf - -C "$root" . | zstd -T0 -3 -q >"$1.part"
  mv "$1.part" "$1"
  rm -rf "$root"
}

# How this machine reaches its package registries: authorities, pip's index, apt's proxy. Never cached: it may change.
add_registries() {
  local docker folder; docker=$(docker_command)
  folder=$(mktemp -d)
  mkdir "$folder/authorities"
  cp /usr/local/share/ca-certificates/*.crt "$folder/authorities/" 2>/dev/null || : >"$folder/authorities/none"
  {
    echo '[global]'
    python3 -m pip config list 2>/dev/null | grep -vF 'file:' |
      sed -nE "s/^(global|:env:)\.(index-url|extra-index-url|trusted-host|default-timeout)='(.*)'$/\2 = \3/p" | sort -u -t= -k1,1 || true
    echo 'cert = /etc/ssl/certs/ca-certificates.crt'
  } >"$folder/pip.conf"
  apt-config dump | grep -E '^Acquire::https?::[^ ]*Proxy' >"$folder/90registries" || :
  cat >"$folder/Dockerfile" <<'D'
FROM openenv-base:bare
COPY authorities/ /usr/local/share/ca-certificates/
COPY pip.conf /etc/pip.conf
COPY 90registries /etc/apt/apt.conf.d/90registries
RUN update-ca-certificates >/dev/null 2>&1
D
  DOCKER_BUILDKIT=1 "$docker" build --quiet --tag "$BASE" "$folder" >/dev/null || { rm -rf "$folder"; fail "the stand-in for $BASE does not build"; }
  rm -rf "$folder"
}

# ---- stopping

forget_rules() {
  local table rule chain
  for table in filter nat; do
    iptables -t $table -S | grep -E '^-A .*(DOCKER|docker0|172\.17\.)' | sed 's/^-A/-D/' |
      while read -r rule; do eval "iptables -t $table $rule" 2>/dev/null || true; done || true
    for chain in $(iptables -t $table -S | awk '/^-N DOCKER/ {print $2}'); do iptables -t $table -F "$chain"; done
    for chain in $(iptables -t $table -S | awk '/^-N DOCKER/ {print $2}'); do iptables -t $table -X "$chain"; done
  done
}

down() {
  local pid docker
  pid=$(cat "$DIR/docker.pid" 2>/dev/null) || return 0
  if docker=$(docker_command) && answers "$SOCKET"; then
    # What is kept for the next time must not grow for ever.
    DOCKER_HOST=$SOCKET "$docker" image prune --force >/dev/null 2>&1 || true
    DOCKER_HOST=$SOCKET "$docker" builder prune --force --keep-storage 3GB >/dev/null 2>&1 || true
  fi
  kill "$pid" 2>/dev/null || true
  for _ in $(seq 120); do [ -e "$DIR/docker.pid" ] || break; sleep 0.25; done
  umount "$DIR/exec/netns/default" "$DIR/data" 2>/dev/null || true
  ip link del docker0 2>/dev/null || true
  forget_rules
  [ ! -s "$DIR/policy.before" ] || iptables -P FORWARD "$(cat "$DIR/policy.before")"
  [ ! -s "$DIR/forward.before" ] || cat "$DIR/forward.before" >/proc/sys/net/ipv4/ip_forward
  rm -f "$DIR/policy.before" "$DIR/forward.before"
  say "stopped"
}

# A command with an engine, or without one where none can be had: its tests then say that they are skipped, and why.
run() {
  local host was=0 status=0
  find_engine >/dev/null && was=1
  if host=$(up); then
    export DOCKER_HOST=$host
  else
    say "going on without a container engine"
  fi
  [ "$was" = 1 ] || trap down EXIT
  "$@" || status=$?
  return "$status"
}

case ${1:-} in
  up) host=$(up); echo "export DOCKER_HOST=$host" ;;
  down) down ;;
  run) shift; [ $# -gt 0 ] || fail "run what?"; run "$@" ;;
  *) sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"; exit 2 ;;
esac
