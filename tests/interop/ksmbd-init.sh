#!/bin/sh
# The first process of the machine in which ksmbd runs (ksmbd-root.sh): one share on a disk, and a shell for the
# tests on a port of its own, so that they can look at the server's disk and change what is on it. ksmbd.sh adds
# /etc/passwd, /etc/group, /etc/ksmbd/ksmbd.conf and /etc/login (user:password).
export PATH=/sbin:/bin
mkdir -p /proc /sys /dev /run/lock /tmp /srv/share
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
for module in virtio_net virtio_blk ksmbd; do modprobe "$module"; done
ip link set lo up
ip addr add 10.0.2.15/24 dev eth0
ip link set eth0 up
ip route add default via 10.0.2.2
mount -t ext4 -o user_xattr /dev/vda /srv/share
user=$(cut -d: -f1 /etc/login)
rmdir /srv/share/lost+found
chown "$user:$user" /srv/share
ksmbd.adduser -a -p "$(cut -d: -f2- /etc/login)" "$user"
nc -ll -p 7777 -e /bin/sh &
ksmbd.mountd --nodetach=0 &
until grep -q ':01BD .* 0A ' /proc/net/tcp6 /proc/net/tcp; do
    sleep 0.1
done
echo "READY after $(cut -d' ' -f1 /proc/uptime) s"
dmesg -n 8 # from here on the console has what the kernel complains of
wait
