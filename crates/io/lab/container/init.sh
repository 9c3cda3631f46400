# The node's first process: the file systems that a machine would have, then systemd.
# Arguments: the lab's directory, the node, its control group, the image's tree.
set -eu
lab="$1" node="$2" tree="$4"
disk="$lab/$node.disk" root="$lab/$node.root"

mount -t overlay -o "lowerdir=$tree,upperdir=$disk/upper,workdir=$disk/work" overlay "$root"
cd "$root"
# Over the tree, not into the layer above it: the directories on the way keep their owners and modes.
if [ ! -e var/lib/lab/seeded ]; then
  for archive in seed adaptation; do
    tar --extract --numeric-owner --preserve-permissions --file "$lab/$node.$archive"
  done
  : > var/lib/lab/seeded
fi
mount -t proc -o nosuid,nodev,noexec proc proc
mount -t sysfs -o nosuid,nodev,noexec sysfs sys
mount -t cgroup2 -o nosuid,nodev,noexec cgroup2 sys/fs/cgroup
mount -t tmpfs -o mode=755 tmpfs dev
mount -t tmpfs -o mode=755 tmpfs run
mount -t tmpfs -o mode=1777 tmpfs tmp

for device in null:3 zero:5 full:7 random:8 urandom:9; do
  mknod -m 666 "dev/${device%:*}" c 1 "${device#*:}"
done
mknod -m 666 dev/tty c 5 0
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts dev/pts
mount -t tmpfs -o mode=1777 tmpfs dev/shm
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
for stream in stdin:0 stdout:1 stderr:2; do ln -s "/proc/self/fd/${stream#*:}" "dev/${stream%:*}"; done

# The host's own settings stay out of reach; those of this network namespace are the node's. Every start is another boot.
mount --bind proc/sys proc/sys
mount -o remount,bind,ro proc/sys
mount --bind proc/sys/net proc/sys/net
mount -o remount,bind,rw proc/sys/net
mkdir run/lab
# These are the host's kernel's, and read-only in a network namespace: the node has its own, as Debian sets them.
for limit in rmem_max wmem_max; do
  echo 212992 > "run/lab/$limit"
  mount --bind "run/lab/$limit" "proc/sys/net/core/$limit"
done
cat /proc/sys/kernel/random/uuid > run/lab/boot-id
mount --bind run/lab/boot-id proc/sys/kernel/random/boot_id
for part in sys/*; do
  case "$part" in sys/class | sys/devices | sys/fs) continue ;; esac
  mount --bind "$part" "$part"
  mount -o remount,bind,ro "$part"
done

# Stand-ins for RDMA ports: files in the kernel's layout, no verbs behind them. A class of its own cannot be added to sysfs,
# so all the others come along into a directory where it can.
mkdir run/lab/class
mount --bind sys/class run/lab/class
mount -t tmpfs -o mode=755 tmpfs sys/class
for class in run/lab/class/*; do
  mkdir "sys/class/${class##*/}"
  mount --bind "$class" "sys/class/${class##*/}"
done
umount run/lab/class
mkdir -p sys/class/infiniband
mount --bind "$lab/$node.rdma" sys/class/infiniband

# As on a machine, the cards are there before anything looks for them.
tries=0
while [ "$(ls sys/class/net | wc -l)" -lt "$NICS" ]; do
  tries=$((tries + 1))
  [ $tries -le 300 ] || { echo "the cables were not plugged in within 30 s" >&2; exit 1; }
  sleep 0.1
done

mkdir run/lab/host
pivot_root . run/lab/host
umount -l /run/lab/host
rmdir /run/lab/host
hostname "$(cat /etc/hostname)"
# Neither the host's clock nor its kernel are a node's to change.
exec setpriv --bounding-set=-sys_time,-sys_module,-sys_rawio --inh-caps=-sys_time,-sys_module,-sys_rawio \
  env -i "CROSSTIE_LAB_OF=$CROSSTIE_LAB_OF" ${MANAGER:+"container=$MANAGER"} PATH=/usr/sbin:/usr/bin:/sbin:/bin TERM=linux \
  /lib/systemd/systemd < /dev/null > /dev/null 2>&1
