package main

import (
	"github.com/spf13/cobra"

	"github.com/zurau/zurau/benchmarks/suite"
)

func benchCommand() *cobra.Command {
	c := group("bench", "Measure the device, the engine and a broker with fio's job files",
		benchLevelCommand("device", "Run a job on files: what the disk gives", benchDeviceLong, suite.Device),
		benchLevelCommand("engine", "Run a job on the engine in process: what it keeps of that", benchEngineLong, suite.Engine),
		benchLevelCommand("broker", "Run a job on a broker over the wire: what the network keeps of that", benchBrokerLong, suite.Broker),
		benchLevelCommand("all", "Run a job at all three levels, side by side", benchAllLong, suite.Device, suite.Engine, suite.Broker),
		benchModesCommand(), benchReportCommand(), benchCompareCommand(), benchPlotCommand(), benchKeysCommand())
	c.Long = `Measure with job files of fio (fio-profiles/*.fio, or your own). One job describes a pattern; it runs on the device by fio, on the
engine in process, and over the wire against a broker, so that what the disk gives, what the engine keeps of it and what the network keeps
of that stand beside each other. zurau bench keys says what each key means to a log.

Raw results are kept as JSON lines, by default in ./benchmarks/results. Take an idle machine: load of anything else is noted with the results.`
	return c
}

const (
	benchDeviceLong = `Run job files on files of a folder: by fio, where it is there, and else (or with --native) by reads and writes of our own, through
io_uring or plain calls as the job's ioengine says. The files are removed again.`
	benchEngineLong = `Run job files on an engine in this process: writes are appends of record batches, reads are reads from a log's start, and a reader
of the file that another job of its stage writes follows the log's end.`
	benchBrokerLong = `Run job files over the wire. Without --bootstrap-server a broker of this program is started on a fresh folder for each stage; with it, any broker or
cluster that speaks Kafka's protocol is asked, and the topics that were made for the run are deleted at its end. CPU and memory are those of
the broker's process, found by its port on this machine or named by --pid, apart from the client's.`
	benchAllLong = `Run each stage of the job files on the device, on the engine and on a broker, in turn, and print what a level keeps of the one below
it. With --bootstrap-server the broker is one that runs already, and not one of this program.`
)

func benchLevelCommand(use, short, long string, levels ...string) *cobra.Command {
	f := &benchFlags{levels: levels}
	c := &cobra.Command{
		Use:   use + " JOB.fio...",
		Short: short,
		Long:  long,
		Example: "  zurau bench " + use + ` fio-profiles/sync-append-dsync.fio --directory /data
  zurau bench ` + use + ` fio-profiles/*.fio --quick`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("%s: a job file is missing", named(c))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return f.run(c, args) },
	}
	f.add(c)
	return c
}
