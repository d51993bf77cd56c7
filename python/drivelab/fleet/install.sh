# runs on a host: version, wheel, Python, offline or online; the wheels come as a tar archive on the standard input
set -eu
version=$1 wheel=$2 python=$3 network=$4
place=${XDG_DATA_HOME:-$HOME/.local/share}/drivelab/fleet-$version
interpreter=
for name in "python$python" python3; do
    if [ "$("$name" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)" = "$python" ]; then
        interpreter=$name
        break
    fi
done
if [ -z "$interpreter" ]; then
    echo "there is no Python $python, which those who ask have" >&2
    exit 1
fi
mkdir -p "$place"
rm -rf "$place/wheels"
mkdir "$place/wheels"
tar -xf - -C "$place/wheels"
"$interpreter" -m venv --clear "$place/venv" >&2
set -- --quiet --disable-pip-version-check
if [ "$network" = offline ]; then
    set -- "$@" --no-index --find-links "$place/wheels"
fi
"$place/venv/bin/python" -m pip install "$@" "$place/wheels/$wheel[fleet]" >&2
"$place/venv/bin/drivelab" --version >&2
echo "$place/venv/bin/drivelab"
