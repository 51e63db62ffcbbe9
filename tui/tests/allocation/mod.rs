//! A Slurm of one node, in a namespace of the network that nothing leads to.

// Each test program uses its own part of this.
#![allow(dead_code)]

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use jitterlab_skip::{is_root, skip};

use crate::common::experiments::until;
use crate::common::{Lab, text};

const DAEMONS: [&str; 3] = ["munged", "slurmctld", "slurmd"];

/// Its daemons; they end with this value.
pub struct Slurm {
    pub lab: Lab,
    namespace: String,
    daemons: Vec<Child>,
}

/// Whether Slurm is there, and may be started; says so if not. bootstrap/test installs it.
pub fn has_slurm() -> bool {
    if !is_root("make a network namespace") {
        return false;
    }
    let is_there = |name: &&str| Path::new("/usr/sbin").join(name).exists();
    let missing = DAEMONS.iter().find(|name| !is_there(name));
    if let Some(name) = missing {
        skip(format_args!(
            "there is no {name}; apt-get install slurm-wlm munge"
        ));
    }
    missing.is_none()
}

impl Slurm {
    /// Starts it; its node is idle.
    pub fn start() -> Self {
        Slurm::with("")
    }

    /// The same with more lines in its slurm.conf; `{folder}` stands for the folder of the lab.
    pub fn with(lines: &str) -> Self {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let pid = std::process::id();
        let namespace = format!("jls-{pid}-{number}");
        let mut slurm = Slurm {
            lab: Lab::new(),
            namespace,
            daemons: Vec::new(),
        };
        for command in [
            format!("netns add {}", slurm.namespace),
            format!("-n {} link set lo up", slurm.namespace),
            // Slurm resolves no address where loopback is all that there is: a cable that leads nowhere.
            format!(
                "-n {} link add cable0 type veth peer name cable1",
                slurm.namespace
            ),
            format!("-n {} address add 10.73.0.1/24 dev cable0", slurm.namespace),
            format!("-n {} link set cable0 up", slurm.namespace),
            format!("-n {} link set cable1 up", slurm.namespace),
        ] {
            let status = Command::new("ip").args(command.split(' ')).status();
            assert!(status.unwrap().success(), "{command}");
        }
        // A rank's shared memory is called by its job: no other Slurm on this machine may have one of the same number.
        slurm.configure(pid % 60_000 * 1_000 + number * 100 + 1, lines);
        let file = |name: &str| slurm.lab.path(name).display().to_string();
        let munge = [
            ("--key-file", "munge.key"),
            ("--socket", "munge.socket"),
            ("--pid-file", "munge.pid"),
            ("--log-file", "munge.log"),
            ("--seed-file", "munge.seed"),
        ];
        let munge = munge.map(|(option, name)| format!("{option}={}", file(name)));
        let [munged, slurmctld, slurmd] = DAEMONS;
        let munged = slurm.daemon(munged, &["--foreground", "--force"], &munge);
        let conf = [file("slurm.conf")];
        slurm.daemons.push(munged);
        until(|| slurm.lab.path("munge.socket").exists());
        for (name, options) in [(slurmctld, ["-D", "-f"]), (slurmd, ["-D", "-f"])] {
            let daemon = slurm.daemon(name, &options, &conf);
            slurm.daemons.push(daemon);
        }
        until(|| {
            let said = slurm.command("sinfo").args(["-h", "-o", "%T"]).output();
            text(&said.unwrap().stdout).trim() == "idle"
        });
        slurm
    }

    fn configure(&self, first_job: u32, lines: &str) {
        for folder in ["state", "spool", "tmp"] {
            fs::create_dir(self.lab.path(folder)).unwrap();
        }
        let key: String = (0..64).map(|i| format!("{i:02}")).collect();
        self.lab.write("munge.key", key);
        let private = fs::Permissions::from_mode(0o600);
        fs::set_permissions(self.lab.path("munge.key"), private).unwrap();
        let host = nix::unistd::gethostname().unwrap();
        let host = host.to_string_lossy();
        let host = host.split('.').next().unwrap();
        let folder = self.lab.path("");
        let folder = folder.display();
        let lines = lines.replace("{folder}", &folder.to_string());
        // Nothing of them is used, but slurmd begins with finding out which there are, and none are mounted.
        self.lab.write("cgroup.conf", "CgroupPlugin=cgroup/v1\n");
        self.lab.write(
            "slurm.conf",
            format!(
                "ClusterName=lab\nSlurmctldHost={host}(127.0.0.1)\nSlurmUser=root\nAuthType=auth/munge\n\
                 AuthInfo=socket={folder}munge.socket\nCredType=cred/munge\n\
                 StateSaveLocation={folder}state\nSlurmdSpoolDir={folder}spool\nTmpFS={folder}tmp\n\
                 SlurmctldPidFile={folder}slurmctld.pid\nSlurmdPidFile={folder}slurmd.pid\n\
                 SlurmctldLogFile={folder}slurmctld.log\nSlurmdLogFile={folder}slurmd.log\n\
                 ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nMpiDefault=none\n\
                 JobAcctGatherType=jobacct_gather/none\nAccountingStorageType=accounting_storage/none\n\
                 SelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\nReturnToService=2\n\
                 SlurmdParameters=config_overrides\nFirstJobId={first_job}\n\
                 NodeName={host} NodeAddr=127.0.0.1 CPUs=4 State=UNKNOWN\n\
                 PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP\n{lines}"
            ),
        );
    }

    fn daemon(&self, name: &str, options: &[&str], arguments: &[String]) -> Child {
        let said = File::create(self.lab.path(&format!("{name}.out"))).unwrap();
        self.command(&format!("/usr/sbin/{name}"))
            .args(options)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(said.try_clone().unwrap())
            .stderr(said)
            .spawn()
            .unwrap()
    }

    /// A command where Slurm is, not started yet.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new("ip");
        command
            .args(["netns", "exec", &self.namespace, program])
            .current_dir(self.lab.path(""))
            .env("SLURM_CONF", self.lab.path("slurm.conf"));
        command
    }

    /// The processes that run in it.
    fn pids(&self) -> Vec<String> {
        let mut pids = Command::new("ip");
        let pids = pids.args(["netns", "pids", &self.namespace]).output();
        let pids = text(&pids.unwrap().stdout);
        pids.lines().map(str::to_owned).collect()
    }

    /// The ranks that run in it.
    pub fn ranks(&self) -> Vec<String> {
        let is_rank = |pid: &String| {
            let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            name.starts_with("jitterlab-mpi")
        };
        self.pids().into_iter().filter(is_rank).collect()
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        // The daemons, and all that they have started.
        for pid in self.pids() {
            let _ = Command::new("kill").args(["-9", &pid]).status();
        }
        for daemon in &mut self.daemons {
            let _ = daemon.wait();
        }
        let _ = Command::new("ip")
            .args(["netns", "delete", &self.namespace])
            .status();
    }
}
