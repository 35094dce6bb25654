#!/bin/bash
# A Ray cluster inside a Slurm job, and a run on it: sbatch --nodes 4 deploy/slurm.sh learn zero --preset go9
# What comes after the file's name is given to tengen, with --cluster added. The same command resumes a run that ran out
# of time.
#SBATCH --job-name=tengen
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=16
#SBATCH --time=24:00:00
#SBATCH --exclusive
set -euo pipefail
export RAY_AUTH_MODE=token # deploy/head.sh makes the token, in the home folder that all nodes share

port=6379
nodes=($(scontrol show hostnames "$SLURM_JOB_NODELIST"))
head=${nodes[0]}
address=$(srun --nodes=1 --ntasks=1 --nodelist="$head" hostname --ip-address | awk '{ print $1 }')
here=$SLURM_SUBMIT_DIR

srun --nodes=1 --ntasks=1 --nodelist="$head" sh -c "$here/deploy/head.sh $port && sleep infinity" &
sleep 20
for node in "${nodes[@]:1}"; do
  srun --nodes=1 --ntasks=1 --nodelist="$node" ray start --address="$address:$port" --block &
done
srun --overlap --nodes=1 --ntasks=1 --nodelist="$head" tengen "$@" --cluster "$address:$port"
