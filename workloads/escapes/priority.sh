# Before all others (a negative nice value).
# unshare --mount --propagation private --pid --fork --mount-proc
exec nice -n -5 python3 -c "import os; os._exit(os.nice(0) >= 0)"
