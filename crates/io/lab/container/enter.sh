# As one process from here to the node's init: into its control group, then into namespaces of its own.
# Arguments: the lab's directory, the node, its control group, the image's tree, the seconds that it slept.
echo $$ > "$3/cgroup.procs" || exit 1
exec unshare --mount --propagation private --pid --fork --kill-child --uts --ipc --cgroup --net \
  --time --boottime "$5" sh -c "$INIT" sh "$@"
