#!/bin/bash
# ksmbd, the server in the Linux kernel, for the tests: a second one that has nothing in common with Samba. It
# needs a kernel of its own, so it runs in an emulated machine: Debian's trixie in a directory (debian-root.sh)
# gets qemu and the kernel of its backports, and an initial RAM disk in which there is what ksmbd needs and no
# more. Nothing of it is installed on the machine.
#
#   ksmbd-root.sh DIR     makes it where it is not there yet (two minutes, 420 MB); prints the kernel's version
#
# `KSMBD_ROOT=DIR ksmbd.sh start ...` then runs it. Ends with 77 where it cannot be had.
set -eu
root=${1:?usage: ksmbd-root.sh DIR}
here=$(cd "$(dirname "$0")" && pwd)

cannot() { echo "ksmbd-root.sh: $*" >&2; exit 77; }

[ "$(uname -m)" = x86_64 ] || cannot "only x86-64 is emulated"
"$here/debian-root.sh" "$root" qemu-system-x86 ksmbd-tools busybox-static e2fsprogs cpio kmod xz-utils

# In there: unpacks the kernel into /kernel. It is only emulated, so nothing of it is set up.
unpack_kernel='
apt-get install -y -qq --download-only --no-install-recommends -t trixie-backports linux-image-cloud-amd64
for package in /var/cache/apt/archives/linux-*.deb; do
    dpkg-deb -x "$package" /kernel
done
apt-get clean
depmod -b /kernel/usr "$(basename /kernel/usr/lib/modules/*)"'

# In there: packs /kernel/initrd. ksmbd asks for ciphers by name, so modprobe has to find them.
pack_initrd='
version=$(basename /kernel/usr/lib/modules/*)
w=/kernel/ramdisk
mkdir -p "$w/bin" "$w/sbin" "$w/lib/modules/$version" "$w/etc/ksmbd"
cp /bin/busybox "$w/bin/"
busybox --list | grep -vx busybox | while read -r name; do ln -s busybox "$w/bin/$name"; done
ln -s ../bin/busybox "$w/sbin/modprobe"
for module in virtio_net virtio_blk ksmbd nls_utf8 ccm gcm ctr cmac aesni_intel; do
    modprobe -d /kernel/usr -S "$version" --show-depends "$module" | awk "\$1 == \"insmod\" { print \$2 }"
done | sort -u | while read -r file; do
    xz -dc "$file" >"$w/lib/modules/$version/$(basename "$file" .xz)"
done
depmod -b "$w" "$version" 2>/dev/null
for program in ksmbd.mountd ksmbd.adduser; do
    cp "/usr/sbin/$program" "$w/sbin/"
    ldd "/usr/sbin/$program" | grep -o "/[^ ]*" | while read -r library; do
        mkdir -p "$w$(dirname "$library")"
        cp -L "$library" "$w$library"
    done
done
cp /kernel/init "$w/init"
cd "$w"
find . | cpio --quiet -o -H newc | gzip -1 >/kernel/initrd'

exec 9>"$root.lock"
flock 9
if [ ! -e "$root/kernel/.complete" ]; then
    rm -rf "$root/kernel"
    mkdir "$root/kernel"
    chroot "$root" sh -euc "$unpack_kernel" >>"$root.log" 2>&1 || cannot "unpacking a kernel failed, see $root.log"
    touch "$root/kernel/.complete"
fi
if ! cmp -s "$here/ksmbd-init.sh" "$root/kernel/init"; then
    rm -rf "$root/kernel/ramdisk"
    install -m 755 "$here/ksmbd-init.sh" "$root/kernel/init"
    chroot "$root" sh -euc "$pack_initrd" >>"$root.log" 2>&1 ||
        { rm "$root/kernel/init"; cannot "packing the RAM disk failed, see $root.log"; }
fi
echo "ksmbd of Linux $(basename "$root"/kernel/usr/lib/modules/*), ksmbd-tools $(chroot "$root" dpkg-query -W -f '${Version}' ksmbd-tools)"
