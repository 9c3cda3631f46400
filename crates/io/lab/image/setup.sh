#!/bin/sh
# Before the first package: how the initramfs is made. It holds what the root disk needs, and unpacks the node's own files
# (identity, names, network) from QEMU's fw_cfg into the root before its first init.
set -eu
tools="$1/etc/initramfs-tools"
mkdir -p "$tools/conf.d" "$tools/hooks" "$tools/scripts/local-bottom"
cat > "$tools/conf.d/lab" <<CONF
MODULES=list
BUSYBOX=y
COMPRESS=lz4
FSTYPE=ext4
CONF
cat > "$tools/hooks/lab" <<'HOOK'
#!/bin/sh
[ "$1" = prereqs ] && exit 0
. /usr/share/initramfs-tools/hook-functions
manual_add_modules virtio_pci virtio_blk ext4 crc32c_generic crc32c_intel qemu_fw_cfg
HOOK
cat > "$tools/scripts/local-bottom/lab" <<'SCRIPT'
#!/bin/sh
[ "$1" = prereqs ] && exit 0
[ -e "$rootmnt/var/lib/lab/seeded" ] && exit 0
modprobe qemu_fw_cfg
seed=/sys/firmware/qemu_fw_cfg/by_name/opt/org.crosstie/seed/raw
[ -e "$seed" ] || exit 0
mkdir -p "$rootmnt/var/lib/lab"
tar -x -C "$rootmnt" -f "$seed" && touch "$rootmnt/var/lib/lab/seeded"
SCRIPT
chmod 755 "$tools/hooks/lab" "$tools/scripts/local-bottom/lab"
