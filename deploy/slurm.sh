#!/bin/bash
# One launcher on each node; Slurm starts the job again when nodes fail, and it goes on from its last checkpoint.
#
#   sbatch --nodes 4 deploy/slurm.sh deploy/train.py --checkpoints run
#
#SBATCH --job-name=train
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --exclusive
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=%x-%j.out
set -euo pipefail

hosts=$(scontrol show hostnames "$SLURM_JOB_NODELIST")
first=${hosts%%$'\n'*}
port=$((20000 + SLURM_JOB_ID % 20000)) # jobs that share a node do not meet

# a failure on one node ends all of them (-K), so that Slurm can put the job into the queue again
exec srun --kill-on-bad-exit=1 bash -c '
    exec python -m paddle.distributed.launch --nnodes "$SLURM_JOB_NUM_NODES" --rank "$SLURM_NODEID" \
        --master "$0" --max_restart 3 --log_dir "log/$SLURM_JOB_ID/$SLURM_NODEID" "$@"
' "$first:$port" "$@"
