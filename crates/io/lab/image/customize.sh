#!/bin/sh
# After the last package: the user, what every copy must not share, the initramfs, and the file system as a qcow2 image.
# Arguments: the root, the initramfs's init, and for an image that containers of this machine can run, the word "tree".
set -eu
root="$1"
init="$2"
image="$root/var/lib/lab/image"
view="$root/var/lib/lab/view"
mkdir -p "$image" "$view"

chroot "$root" useradd -u 1000 -m -s /bin/bash lab
rm -f "$root"/etc/ssh/ssh_host_* "$root/var/lib/dbus/machine-id"
: > "$root/etc/machine-id"
echo '/dev/vda / ext4 errors=remount-ro 0 1' > "$root/etc/fstab"
# Work that a lab node never needs, and that would run in the middle of a measurement or make every start longer.
for unit in apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer e2scrub_reap.service \
    man-db.timer iperf3.service ibacm.socket ibacm.service opensm.service modprobe@dm_mod.service modprobe@drm.service \
    modprobe@efi_pstore.service modprobe@fuse.service modprobe@loop.service systemd-binfmt.service \
    proc-sys-fs-binfmt_misc.automount getty@.service; do
  ln -sf /dev/null "$root/etc/systemd/system/$unit"
done
rm -f "$root"/etc/update-motd.d/*
# A user's manager stays once it is started: starting one takes an emulated CPU three of the five seconds of a login, and
# without this it is ended ten seconds after every command.
mkdir -p "$root/etc/systemd/logind.conf.d"
printf '[Login]\nUserStopDelaySec=infinity\n' > "$root/etc/systemd/logind.conf.d/lab.conf"
# Storage over RDMA, IPoIB and OPA: a third of a boot under emulation, for nothing.
rm -f "$root"/etc/rdma/modules/*.conf
printf 'ib_umad\nib_uverbs\nrdma_ucm\n' > "$root/etc/rdma/modules/rdma.conf"

tree="$image/initrd.d"
mkdir -p "$tree/bin" "$tree/modules"
cp "$root/bin/busybox" "$tree/bin/busybox"
cp "$init" "$tree/init"
chmod 755 "$tree/init"
version=$(ls "$root/lib/modules")
chroot "$root" modprobe --show-depends --set-version "$version" -a \
    virtio_pci virtio_blk crc32c_generic ext4 qemu_fw_cfg |
  sed -n 's/^insmod \([^ ]*\).*/\1/p' | awk '!seen[$0]++' |
  while read -r module; do
    name=$(basename "$module")
    case "$name" in
      *.xz) name=${name%.xz}; xz -dc "$root$module" > "$tree/modules/$name" ;;
      *.zst) name=${name%.zst}; zstd -qdc "$root$module" > "$tree/modules/$name" ;;
      *) cp "$root$module" "$tree/modules/$name" ;;
    esac
    echo "$name" >> "$tree/modules/order"
  done
chroot "$root" sh -c 'cd /var/lib/lab/image/initrd.d && find . | busybox cpio -o -H newc 2>/dev/null > ../initrd'
rm -rf "$tree"
# QEMU boots an unpacked kernel directly; unpacking it takes an emulated CPU seven seconds at every start. (By the host's
# xz: busybox lacks the filter for x86 code. A kernel that is packed otherwise stays packed, and works as well.)
cp "$root"/boot/vmlinuz-* "$image/kernel"
start=$(LC_ALL=C grep -abo "$(printf '\3757zXZ')" "$image/kernel" | head -n 1 | cut -d : -f 1)
if [ "$(head -c 518 "$image/kernel" | tail -c 4)" = HdrS ] && [ -n "$start" ]; then
  tail -c +$((start + 1)) "$image/kernel" | xz -dc --single-stream > "$image/unpacked"
  mv "$image/unpacked" "$image/kernel"
fi
rm -rf "$root"/boot/* "$root"/var/cache/apt/* "$root"/var/lib/apt/lists/*

# Seen from here the image file is not part of what goes into it.
mount --bind "$root" "$view"
mount -t tmpfs -o mode=755 none "$view/var/lib/lab/image"
mount -t tmpfs -o mode=755 none "$view/var/lib/lab/view"
if [ "${3:-}" = tree ]; then
  # Containers run on the host's kernel.
  tar --create --numeric-owner --xattrs --exclude=./lib/modules --exclude=./usr/lib/modules -C "$view" -f "$image/tree.tar" .
fi
mke2fs -q -F -t ext4 -L root -m 0 -E lazy_itable_init=1,lazy_journal_init=1 -d "$view" "$image/root.ext4" 4G
umount "$view/var/lib/lab/image" "$view/var/lib/lab/view" "$view"
qemu-img convert -O qcow2 "$image/root.ext4" "$image/root.qcow2"
rm "$image/root.ext4"
rmdir "$view"
