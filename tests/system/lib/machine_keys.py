"""What the key of each of three machines can do, and its end; a part of test_three_machines."""


def try_keys(story, says, wait_state):
    how = {"identity": story.user, "cwd": str(story.work)}
    denied = "permission denied"
    story.checks.says("root submits nothing from a login machine", story.login.sh("sbatch --wrap true", cwd="/tmp"), 1, denied)
    story.checks.says("and administers nothing from there", story.login.sh("scontrol update nodename=node1 state=drain reason=x"), 1, denied)
    story.checks.says("a compute node is no place to submit from", story.node.sh("sbatch --wrap true", **how), 1, denied)
    story.checks.says("unless one's job is there", story.login.sh("srun -w node1 sbatch -H -o /dev/null --wrap true", **how), 0, "Submitted batch job")
    story.head.must(f"scancel -u {story.user[0]}")
    story.checks.that("a node may say that it is not well", story.node.sh("scontrol update nodename=node1 state=drain reason=health").code == 0)
    story.checks.says("but not that others are", story.node.sh("scontrol update nodename=node2 state=drain reason=health"), 1, denied)
    story.head.must("scontrol update nodename=node1 state=resume")
    old = story.node.read("/etc/slurm/millrace.key")
    story.checks.says("a node's key is revoked", story.run(story.head, "millrace key revoke node1"), 0, "worthless")
    story.checks.that("its connection ends", says(story.head, "/var/log/slurmctld.log", "agent node1 disconnected", "revoked"))
    story.checks.that("and it is turned away", says(story.node, "/var/log/slurmd.log", "node key is not accepted"))
    story.node.end("/run/slurmd.pid")
    new = story.run(story.head, "millrace key node node1").out
    story.checks.that("the next key is another one", new != old, new)
    story.node.write("/etc/slurm/millrace.key", new, 0o600)
    story.checks.that("with it the agent starts", story.node.sh("millrace-agent").code == 0)
    wait_state(story.head, "node1", "idle")
