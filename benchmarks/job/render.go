package job

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// WriteTo writes a stage as a job file for fio, with the times and sizes that it has now (Shorten, RunFor). What
// fio would wait for, the stages before, is left out. Each job is a group of its own, whose clones are reported as one; nothing is
// unlinked, since a job that has ended would take the file from one that is yet to open it.
func (s Stage) WriteTo(w io.Writer) (int64, error) {
	var b strings.Builder
	for _, j := range s {
		fmt.Fprintf(&b, "[%s]\nnew_group=1\ngroup_reporting=1\n", j.Name)
		for _, k := range j.Keys {
			switch k.Name {
			case "runtime", "ramp_time", "startdelay", "time_based", "size", "stonewall", "wait_for_previous", "name", "directory",
				"new_group", "group_reporting", "unlink":
			default:
				b.WriteString(k.Name)
				if k.Value != "" {
					b.WriteString("=" + k.Value)
				}
				b.WriteByte('\n')
			}
		}
		fmt.Fprintf(&b, "size=%d\n", j.Size)
		for name, d := range map[string]time.Duration{"runtime": j.Runtime, "ramp_time": j.Ramp, "startdelay": j.StartDelay} {
			if d > 0 {
				fmt.Fprintf(&b, "%s=%dms\n", name, d.Milliseconds())
			}
		}
		if j.TimeBased {
			b.WriteString("time_based=1\n")
		}
		b.WriteByte('\n')
	}
	n, err := io.WriteString(w, b.String())
	return int64(n), err
}
