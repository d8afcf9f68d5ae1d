#!/bin/sh
# Installs cai for one user, without root: into ~/.local, or the folder that CAI_PREFIX names. The package is at the end
# of this file. Run it again with a newer file to update. To remove:
#   rm -r ~/.local/lib/containai ~/.local/bin/cai ~/.local/bin/cai-cursor ~/.local/share/man/man1/cai.1
set -eu

install() {
  prefix=${CAI_PREFIX:-$HOME/.local}
  package=$prefix/lib/containai
  if ! node -e 'const [a, b] = process.versions.node.split("."); process.exit(a > 20 || (a == 20 && b >= 19) ? 0 : 1)'; then
    echo 'cai needs Node 20.19 or newer: install it, for example from your distribution or nodejs.org, and run this again' >&2
    exit 1
  fi
  mkdir -p "$prefix/bin" "$prefix/lib" "$prefix/share/man/man1"
  rm -rf "$package.new"
  mkdir "$package.new"
  # A download that was cut off ends here, and what was installed before stays.
  base64 -d | tar -xz -C "$package.new" --strip-components=1
  rm -rf "$package"
  mv "$package.new" "$package"
  ln -sf ../lib/containai/bin/cai ../lib/containai/bin/cai-cursor "$prefix/bin/"
  ln -sf ../../../lib/containai/man/cai.1 "$prefix/share/man/man1/"
  echo "$("$prefix/bin/cai" --version) is in $prefix/bin"
  case ":$PATH:" in
    *":$prefix/bin:"*) ;;
    *)
      echo 'That folder is not on your PATH. Add this line to ~/.profile, and sign in again:'
      echo "export PATH=\"$prefix/bin:\$PATH\""
      ;;
  esac
}

