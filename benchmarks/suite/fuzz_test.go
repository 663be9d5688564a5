package suite

import (
	"testing"
	"time"

	"github.com/zurau/zurau/benchmarks/job"
	"github.com/zurau/zurau/engine/record"
)

// FuzzWholeBatches holds that what a broker sends as records is walked within its bytes.
func FuzzWholeBatches(f *testing.F) {
	b, err := newBatch(300, 100, record.None)
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(b.bytes))
	f.Add(append(append([]byte{}, b.bytes...), b.bytes[:100]...))
	f.Fuzz(func(t *testing.T, records []byte) {
		var at int64
		if n := wholeBatches(records, &at); n < 0 || n > int64(len(records)) {
			t.Fatalf("%d of %d bytes", n, len(records))
		}
		n := b.stamps(records, func(time.Time, int64) {})
		if n != len(records)/len(b.bytes) {
			t.Fatalf("%d stamps in %d bytes", n, len(records))
		}
	})
}

// FuzzReadFio holds that whatever fio prints is read or refused.
func FuzzReadFio(f *testing.F) {
	f.Add([]byte(`note: both iodepth >= 1 and synchronous I/O engine are selected
{"jobs":[{"jobname":"a","error":0,"job_runtime":433,"usr_cpu":1.5,"sys_cpu":2.5,"ctx":300,
"write":{"io_bytes":1048576,"runtime":433,"total_ios":256,"iops":591.2,"clat_ns":{"mean":1000,"max":9000,"N":256,"percentile":{"50.000000":900,"99.000000":5000}}},
"sync":{"lat_ns":{"mean":200000,"max":900000,"N":256,"percentile":{"50.000000":190000,"99.000000":500000}}}}]}`))
	f.Add([]byte("fio: no such file"))
	stage := job.Stage{&job.Job{Name: "a", SyncEvery: 1}}
	f.Fuzz(func(t *testing.T, out []byte) {
		all, err := readFio(stage, out)
		if err == nil && (len(all) != 1 || all[0].Values["ops"] == 0) {
			t.Fatalf("%+v", all)
		}
	})
}

func TestFiosFlushesAreItsLatencyWhereAFlushFollowsEachWrite(t *testing.T) {
	out := `warning
{"jobs":[{"jobname":"a","job_runtime":1000,"usr_cpu":10,"sys_cpu":20,"ctx":512,
"write":{"io_bytes":4000000,"runtime":500,"total_ios":256,"iops":512,"clat_ns":{"mean":1000,"max":9000,"N":256,"percentile":{"50.000000":900,"99.000000":5000}}},
"sync":{"lat_ns":{"mean":200000,"max":900000,"N":256,"percentile":{"50.000000":190000,"99.000000":500000}}}}]}`
	for every, want := range map[int]float64{1: 0.501, 0: 0.005} {
		all, err := readFio(job.Stage{&job.Job{Name: "a", SyncEvery: every}}, []byte(out))
		if err != nil {
			t.Fatal(err)
		}
		v := all[0].Values
		if v["lat_p99_ms"] != want || v["MB_s"] != 8 || v["ops_s"] != 512 || v["switches_per_op"] != 2 || v["cpu_us_per_op"] != 0.3*1e6/256 {
			t.Errorf("%v", v)
		}
	}
	for _, bad := range []string{"", "fio: failed", `{"jobs":[]}`, `{"jobs":[{"jobname":"a","error":28}]}`} {
		if _, err := readFio(job.Stage{&job.Job{Name: "a"}}, []byte(bad)); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}
