# Installs an agent of the ACP registry into an image, in a step of agent.Dockerfile. `cai build` puts files beside this
# one:
#
#   settings      variables: kind (npm, pypi or archive), program (what it is called on PATH), spec and name (of a
#                 package), cmd (its program; of an archive the path of that), format (of an archive)
#   variables     lines that export what the program gets
#   archive       an archive of that format, which was checked, or the program itself
#
# Only the program is put on PATH, not all that comes with it.
set -eu

here=${CAI_BUILD:-/run/cai-build}
root=${CAI_AGENT:-/usr/local/lib/cai/agent}
files=$root/files

fail() {
  echo "cai: $*" >&2
  exit 1
}

# Archives are a stranger's: nothing of one may lie, or lead, anywhere else than below its folder.
unpack() {
  case "$format" in
    tar.gz) tool=gzip list='tar -tzf' extract='tar -xzof' ;;
    tar.bz2) tool=bzip2 list='tar -tjf' extract='tar -xjof' ;;
    zip) tool=unzip list='unzip -l' extract='unzip -q' ;;
    plain)
      mkdir -p "$(dirname "$files/$cmd")"
      cp "$here/archive" "$files/$cmd"
      return
      ;;
    *) fail "an archive of the format $format cannot be unpacked" ;;
  esac
  command -v "$tool" > /dev/null || fail "the image has no $tool, which unpacks the agent's archive"
  names=$($list "$here/archive" | sed '/^Archive: /d')
  if printf '%s\n' "$names" | grep -Eq '(^|[ /])\.\.(/|$)|(^|  )/'; then
    fail 'the archive has a path that leads out of its folder'
  fi
  (cd "$files" && $extract "$here/archive")
}

mkdir -p "$files" "$root/bin"
. "$here/settings"
if [ -s "$here/ca.pem" ]; then
  export NODE_EXTRA_CA_CERTS="$here/ca.pem"
  cat /etc/ssl/certs/ca-certificates.crt "$here/ca.pem" > "$here/all.pem" 2> /dev/null || true
  export SSL_CERT_FILE="$here/all.pem"
fi

case "$kind" in
  npm)
    NPM_CONFIG_USERCONFIG=$here/npmrc node "$here/npm-install.cjs" "$files" "$spec"
    # As npx chooses.
    [ -n "$cmd" ] || cmd=$(node -p '
      const { name, bin = {} } = require(process.argv[1]);
      const own = name.replace(/^@[^/]*\//, "");
      const all = typeof bin === "string" ? { [own]: bin } : bin;
      new Set(Object.values(all)).size === 1 ? Object.keys(all)[0] : own;
    ' "$files/lib/node_modules/$name/package.json")
    path=$files/bin/$cmd
    ;;
  pypi)
    command -v uv > /dev/null || fail 'the image has no uv, which installs agents from PyPI'
    if [ -s "$here/pip.conf" ]; then
      UV_DEFAULT_INDEX=$(sed -n 's/^index-url *= *//p' "$here/pip.conf")
      export UV_DEFAULT_INDEX
    fi
    UV_TOOL_DIR=$files/tools UV_TOOL_BIN_DIR=$files/bin UV_PYTHON_INSTALL_DIR=$files/python UV_NO_CACHE=1 \
      uv tool install "$spec"
    path=$files/bin/${cmd:-${name%%\[*}}
    ;;
  archive)
    unpack
    if find "$files" ! -type f ! -type d ! -type l | grep -q .; then fail 'the archive has more than files and links'; fi
    find "$files" -type l | while IFS= read -r link; do
      case "$(readlink -f "$link")" in
        "$files"/*) ;;
        *) fail 'the archive has a link that leads out of its folder' ;;
      esac
    done
    path=$files/$cmd
    # Only now, as this follows links.
    [ ! -f "$path" ] || chmod a+x "$path"
    ;;
  *) fail "nothing is known about agents of the kind $kind" ;;
esac

[ -x "$path" ] || fail "what was installed has no program $cmd"
chmod -R a+rX,u+w,go-w,ug-s "$files"
{
  echo '#!/bin/sh'
  cat "$here/variables"
  printf "exec '%s' \"\$@\"\n" "$path"
} > "$root/bin/$program"
chmod 755 "$root/bin/$program"
