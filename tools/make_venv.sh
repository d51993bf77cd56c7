#!/bin/sh
# Makes the virtual environment, or says with which one command to install what is missing.
# usage: tools/make_venv.sh DIRECTORY
set -eu
venv=$1
for python in "${PYTHON:-python3}" python3.14 python3.13 python3.12 python3.11; do
    if "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
        "$python" "$(dirname "$0")/system_packages.py" build
        [ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
        exit 0
    fi
done
echo "Python 3.11 or newer is not installed. Install it with one of:" >&2
echo "  sudo apt-get install -y python3 python3-venv" >&2
echo "  sudo dnf install -y python3" >&2
echo "  sudo pacman -S --needed --noconfirm python" >&2
exit 2
