package peers

// Profiles of brokers, beside mosquitto.

func nats(at place) Group {
	return one(
		Peer{Choices: 1, Env: []string{"GOMAXPROCS=1"}, Command: []string{"nats-server", "-c", at.own + "/nats.conf"}},
		at.file("nats.conf", 0o644,
			"listen: 127.0.0.1:"+at.port,
			"server_name: tandem",
			`ping_interval: "24h"`,
			`write_deadline: "24h"`))
}

// rabbitmq has no use for a node elsewhere, nor for the daemon that would find one.
func rabbitmq(at place) Group {
	own := at.own
	g := one(
		Peer{Directory: own,
			Command: []string{"/usr/lib/rabbitmq/bin/rabbitmq-server"},
			Env: []string{"HOME=" + own, "RABBITMQ_NODENAME=rabbit@localhost", "RABBITMQ_NODE_PORT=" + at.port,
				"RABBITMQ_NODE_IP_ADDRESS=127.0.0.1", "RABBITMQ_CONF_ENV_FILE=/dev/null",
				"RABBITMQ_CONFIG_FILE=" + own + "/rabbitmq.conf", "RABBITMQ_ENABLED_PLUGINS_FILE=" + own + "/enabled_plugins",
				"RABBITMQ_MNESIA_BASE=" + own + "/mnesia", "RABBITMQ_LOG_BASE=" + own + "/log", "RABBITMQ_LOGS=-",
				"RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS=-start_epmd false -erl_epmd_port 25672 +S 1:1 +sbwt none +sbwtdcpu none +sbwtdio none"}},
		at.file("enabled_plugins", 0o644, "[]."),
		at.file("rabbitmq.conf", 0o644,
			"heartbeat = 0",
			"collect_statistics_interval = 86400000",
			"vm_memory_high_watermark.absolute = 1GB",
			"disk_free_limit.absolute = 1MB",
			"log.console.level = warning"))
	g.ReadyTimeout = slowStart
	return g
}
