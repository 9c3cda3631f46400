#!/bin/busybox sh
# The initramfs: find the disk, unpack the node's own files (identity, names, network) from QEMU's fw_cfg over it the first
# time, go on. The root is handed over read-only, as distributions do; systemd remounts it.
export PATH=/bin
busybox mkdir -p /dev /proc /sys /newroot
busybox mount -t devtmpfs dev /dev
busybox mount -t proc proc /proc
busybox mount -t sysfs sys /sys
for module in $(busybox cat /modules/order); do
  busybox insmod "/modules/$module"
done
tries=0
while [ ! -b /dev/vda ] && [ $tries -lt 300 ]; do
  busybox sleep 0.1
  tries=$((tries + 1))
done
busybox mount -t ext4 -o ro /dev/vda /newroot || exec busybox poweroff -f
seed=/sys/firmware/qemu_fw_cfg/by_name/opt/org.crosstie/seed/raw
if [ ! -e /newroot/var/lib/lab/seeded ] && [ -e "$seed" ]; then
  busybox mount -o remount,rw /newroot
  busybox tar -x -C /newroot -f "$seed" && : > /newroot/var/lib/lab/seeded
  busybox mount -o remount,ro /newroot
fi
for tree in dev proc sys; do
  busybox mount --move "/$tree" "/newroot/$tree"
done
exec busybox switch_root /newroot /sbin/init
