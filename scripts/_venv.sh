# Sourced by the other scripts: finds a Python, makes .venv, installs into it.
# Expects $root (the repository) to be set.

find_python() {
    local candidate
    for candidate in "${PYTHON:-}" python3 python3.14 python3.13 python3.12 python3.11; do
        [ -n "$candidate" ] || continue
        if command -v "$candidate" >/dev/null 2>&1 &&
            "$candidate" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2])' 2>/dev/null; then
            echo "$candidate"
            return 0
        fi
    done
    echo "vlmfail needs Python 3.11 or newer, and none was found on the PATH: install one, or" >&2
    echo "name it: PYTHON=/path/to/python3.11 $0" >&2
    return 3
}

make_venv() {
    local python
    [ -x "$root/.venv/bin/python" ] && return 0
    python=$(find_python) || return 3
    if ! "$python" -m venv "$root/.venv" 2>"$root/.venv.log"; then
        cat "$root/.venv.log" >&2
        rm -rf "$root/.venv" "$root/.venv.log"
        echo "could not make .venv with $python; on Debian and Ubuntu: apt-get install python3-venv" >&2
        return 3
    fi
    rm -f "$root/.venv.log"
}

# install NAME...: quietly, with the versions that the continuous integration used.
install() {
    "$root/.venv/bin/python" -m pip install --quiet --disable-pip-version-check \
        --constraint "$root/constraints.txt" "$@"
}
