# Sourced by Deploy/try and Tests/check: what a clean Debian 12, Debian 13 or Ubuntu lacks. Packages
# have the names of Debian 12; later systems know some of them as NAMEt64.

# Files made under TMPDIR include sockets, whose paths have 107 bytes at most (unix(7)).
TMPDIR=${TMPDIR:-/tmp}
if ((${#TMPDIR} > 25)); then
    echo "TMPDIR is too long for sockets: using /tmp" >&2
    export TMPDIR=/tmp
fi

need_swift() {
    if ! command -v swift >/dev/null; then
        echo "swift is missing: install Swift 6.3 or later from swift.org and put it on PATH" >&2
        exit 1
    fi
    # Libraries that the toolchain's programs load or link with.
    need_packages libncurses6 libsqlite3-0 libcurl4 libxml2 pkg-config
    dpkg-query -W -f='${db:Status-Abbrev}\n' 'libstdc++-*-dev' 2>/dev/null | grep -q '^ii' ||
        need_packages g++
    local version
    swift --version >/dev/null 2>&1 || {
        swift --version >&2 || true
        echo "swift does not run: see above, and the packages that swift.org names for this system" >&2
        exit 1
    }
    version=$(swift --version 2>/dev/null | sed -nE 's/.*Swift version ([0-9]+)\.([0-9]+).*/\1 \2/p' | head -n 1)
    read -r major minor <<<"${version:-0 0}"
    if ((major < 6 || (major == 6 && minor < 3))); then
        echo "Swift 6.3 or later is needed; found $major.$minor" >&2
        exit 1
    fi
}

# need_packages NAME...: installs those that are missing, with sudo when not root.
need_packages() {
    local missing=() name
    for name in "$@"; do
        # Debian 13 and Ubuntu 24.04 renamed some libraries for 64-bit time (libcurl4t64,
        # libssl3t64). dpkg-query fails when either name is unknown, and still says what it knows of
        # the other.
        if ! { dpkg-query -W -f='${db:Status-Abbrev}\n' "$name" "${name}t64" 2>/dev/null || true; } | grep -q '^ii'; then
            missing+=("$name")
        fi
    done
    if ((${#missing[@]} == 0)); then
        return
    fi
    local as_root=()
    if ((EUID != 0)); then
        command -v sudo >/dev/null || {
            echo "as root: apt-get install --no-install-recommends ${missing[*]}" >&2
            exit 1
        }
        as_root=(sudo)
    fi
    echo "installing ${missing[*]}"
    "${as_root[@]}" apt-get update -qq
    # Left quiet on purpose: apt's progress would bury the story that follows.
    DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}
