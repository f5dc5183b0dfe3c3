#!/bin/sh
# build.sh NAME makes NAME.so of NAME.c, nd or vdso, and what that includes, with the hash of all of it,
# by which it is known to be up to date.
set -eu
name=$1
parts=$(sed -n 's/^#include "\(.*\)"$/\1/p' "$name.c")
hash=$(cat "$name.c" $parts | sha256sum | cut -c 1-64)
set -- -O2 -Wall -Wextra -shared -fPIC -U_FORTIFY_SOURCE "-DSOURCE=\"$hash\"" -o "$name.so" "$name.c"
if [ "$name" = vdso ]; then
	echo 'LINUX_2.6 { global: __vdso_*; tandem_*; local: *; };' >vdso.map
	exec cc "$@" -nostdlib -ffreestanding -fno-stack-protector -fcf-protection=none -fno-asynchronous-unwind-tables \
		-fvisibility=hidden -Wl,-Bsymbolic,--hash-style=both,-z,noseparate-code,-z,norelro,--build-id=none \
		-Wl,-soname=linux-vdso.so.1,--version-script=vdso.map
fi
exec cc "$@" -ftls-model=initial-exec
