package logfile

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// dumpLog runs Apache Kafka's own dump tool. It is skipped where the oracle, its jars or Java are not there.
func dumpLog(t *testing.T, files ...string) string {
	t.Helper()
	const oracle = "../../../shared/oracle/kafka"
	home := os.Getenv("ORACLE_HOME")
	if user, err := os.UserHomeDir(); home == "" && err == nil {
		home = filepath.Join(user, ".cache", "zurau-oracle")
	}
	for _, file := range []string{oracle, filepath.Join(home, "libs", ".complete")} {
		if _, err := os.Stat(file); err != nil {
			t.Skipf("Apache Kafka is not here: %v", err)
		}
	}
	if _, err := exec.LookPath("java"); err != nil {
		t.Skip(err)
	}
	cmd := exec.Command("nice", "-n", "19", oracle, "dump-log", "--files", strings.Join(files, ","), "--print-data-log", "--verify-index-only=false")
	if strings.HasSuffix(files[0], ".index") {
		cmd = exec.Command("nice", "-n", "19", oracle, "dump-log", "--files", strings.Join(files, ","), "--index-sanity-check")
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("dump-log: %v: %s", err, out)
	}
	return string(out)
}

func TestKafkaReadsWhatARepairHasWritten(t *testing.T) {
	d := make1(t, how{large: true, flushed: 300})
	d.flip(13)
	d.unframe(150)
	d.repair(Repair{Choice: Skip})
	var logs, indexes []string
	for i := range d.segments() {
		logs = append(logs, d.file(i, ".log"))
		indexes = append(indexes, d.file(i, ".index"), d.file(i, ".timeindex"))
	}
	text := dumpLog(t, logs...)
	for o := range int64(305) {
		there := strings.Contains(text, fmt.Sprintf(" offset: %d ", o))
		if lost := o == 13 || o == 150; there == lost {
			t.Errorf("offset %d is there: %t", o, there)
		}
	}
	for _, o := range []int{13, 150} {
		if want := fmt.Sprintf("baseOffset: %d lastOffset: %d count: 0 ", o, o); !strings.Contains(text, want) {
			t.Errorf("no %q", want)
		}
	}
	if strings.Contains(text, "isvalid: false") || strings.Contains(text, "Found") {
		t.Error(text)
	}
	text = dumpLog(t, indexes...)
	if n := strings.Count(text, "passed sanity check"); n != len(indexes) {
		t.Errorf("%d of %d indexes passed: %s", n, len(indexes), text)
	}
}
