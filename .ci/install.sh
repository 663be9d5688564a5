# What the steps need and a fresh machine does not have.

# missing COMMAND PACKAGE: notes a package that has to be installed.
missing() { has "$1" || packages+=("$2"); }

step_install() {
  local packages=() home=${ORACLE_HOME:-$HOME/.cache/zurau-oracle}
  missing kcat kcat
  missing gcc gcc
  missing gcc libc6-dev # the race detector is C
  missing diff diffutils
  missing mkfs.ext4 e2fsprogs
  missing mkfs.xfs xfsprogs
  python3 -c 'import venv, ensurepip' 2>/dev/null || packages+=(python3 python3-venv)
  if [ -e "$shared/oracle/kafka" ]; then
    missing java default-jdk-headless
    { [ -e "$home/libs/.complete" ] && [ -e "$home/streams" ]; } || missing mvn maven
  fi
  if [ ${#packages[@]} -gt 0 ]; then
    [ "${CI:-}" = true ] || fail "missing: ${packages[*]} (CI=true installs them)"
    install_packages "${packages[@]}"
  fi
  [ ! -e "$shared/oracle/kafka" ] || kafka install >/dev/null
  go version
  go mod download
}

install_packages() {
  local as=()
  [ "$(id -u)" = 0 ] || as=(sudo)
  say "apt-get install $*"
  "${as[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq update >"$tmp/apt.log" 2>&1 &&
    "${as[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "$@" >>"$tmp/apt.log" 2>&1 ||
    { tail -20 "$tmp/apt.log" >&2; fail "apt-get install $*"; }
}

# python_here: a Python with the two clients, in a folder that lasts for the run.
python_here() {
  python=$work/python/bin/python
  [ ! -e "$python" ] || return 0
  python3 -m venv "$work/python"
  "$python" -m pip install -q --disable-pip-version-check confluent-kafka kafka-python >"$tmp/pip.log" 2>&1 ||
    { tail -20 "$tmp/pip.log" >&2; fail "pip install confluent-kafka kafka-python"; }
}
