#!/bin/sh
# After the last package: the user, what every copy must not share, and the file system as a qcow2 image in /var/lib/lab/image.
set -eu
root="$1"
chroot "$root" useradd -u 1000 -m -s /bin/bash lab
rm -f "$root"/etc/ssh/ssh_host_* "$root/var/lib/dbus/machine-id"
: > "$root/etc/machine-id"
echo 'LABEL=root / ext4 errors=remount-ro 0 1' > "$root/etc/fstab"
# Work that a lab node never needs, and that would run in the middle of a measurement.
for unit in apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer e2scrub_reap.service \
    man-db.timer iperf3.service ibacm.socket ibacm.service opensm.service; do
  ln -sf /dev/null "$root/etc/systemd/system/$unit"
done
mkdir -p "$root/var/lib/lab/image" "$root/var/lib/lab/view"
cp "$root"/boot/vmlinuz-* "$root/var/lib/lab/image/vmlinuz"
cp "$root"/boot/initrd.img-* "$root/var/lib/lab/image/initrd"
rm -rf "$root"/boot/* "$root"/var/cache/apt/* "$root"/var/lib/apt/lists/*
mount --bind "$root" "$root/var/lib/lab/view"
mount -t tmpfs none "$root/var/lib/lab/view/var/lib/lab/image"
mount -t tmpfs none "$root/var/lib/lab/view/var/lib/lab/view"
mke2fs -q -F -t ext4 -L root -m 0 -E lazy_itable_init=1,lazy_journal_init=1 \
    -d "$root/var/lib/lab/view" "$root/var/lib/lab/image/root.ext4" 4G
umount "$root/var/lib/lab/view/var/lib/lab/image" "$root/var/lib/lab/view/var/lib/lab/view" "$root/var/lib/lab/view"
qemu-img convert -O qcow2 "$root/var/lib/lab/image/root.ext4" "$root/var/lib/lab/image/root.qcow2"
rm "$root/var/lib/lab/image/root.ext4"
rmdir "$root/var/lib/lab/view"
