package config

import (
	"errors"
	"os"
	"strings"
	"testing"
)

func load(t *testing.T, o Options) *Static {
	t.Helper()
	s, err := Load(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestAFlagWinsOverTheEnvironmentAndThatOverTheFile(t *testing.T) {
	s := load(t, Options{
		File: "server.properties", Data: []byte("\nlog.retention.hours=1\nnum.partitions=1\nlog.segment.bytes=2000000\nlog.dirs=/file\n"),
		Environ: []string{"HOME=/root", "ZURAU_LOG_RETENTION_HOURS=2", "ZURAU_NUM_PARTITIONS=2"},
		Set:     []string{"log.retention.hours=3", "zurau.writer=direct", "zurau.writer=buffered"},
		Flags:   map[string]string{"log.dirs": "/flag"},
	})
	for name, want := range map[string]string{
		"log.retention.hours": "3 --set log.retention.hours", "num.partitions": "2 environment variable ZURAU_NUM_PARTITIONS",
		"log.segment.bytes": "2000000 server.properties:4", "zurau.writer": "buffered --set zurau.writer",
		"log.dirs": "/flag command line",
	} {
		if value, from, ok := s.Set(name); !ok || value+" "+from.String() != want {
			t.Errorf("%s: %q from %s, want %q", name, value, from, want)
		}
	}
	if _, _, ok := s.Set("message.max.bytes"); ok {
		t.Error("message.max.bytes is set by nobody")
	}
}

func TestBadValuesStopTheStartWithFileLineKeyValueAndExpectation(t *testing.T) {
	_, err := Load(Options{
		File: "server.properties", Data: []byte("num.partitions=1\n\nlog.segment.bytes = many\nssl.key.password=\x00hush\nlog.retention.ms=0x\n"),
		Environ: []string{"ZURAU_MESSAGE_MAX_BYTES=-1"},
	})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		"server.properties:3: log.segment.bytes=many: expected an int, at least 1048576",
		"server.properties:4: ssl.key.password=[hidden]: expected a password",
		"server.properties:5: log.retention.ms=0x: expected a long",
		"environment variable ZURAU_MESSAGE_MAX_BYTES: message.max.bytes=-1: expected an int, at least 0",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in:\n%v", want, err)
		}
	}
	var setting *SettingError
	if !errors.As(err, &setting) {
		t.Errorf("%T", err)
	}
}

func TestValuesThatDoNotGoTogetherStopTheStart(t *testing.T) {
	for text, key := range map[string]string{
		"log.retention.minutes=0":                                       "log.retention.minutes",
		"log.roll.ms=0":                                                 "log.roll.ms",
		"node.id=1\nbroker.id=2":                                        "broker.id",
		"listeners=a":                                                   "listeners",
		"listeners=PLAINTEXT://:1,SSL://:1":                             "listeners",
		"listeners=INSIDE://:1":                                         "listeners",
		"listeners=PLAINTEXT://:70000":                                  "listeners",
		"listener.security.protocol.map=A:B":                            "listener.security.protocol.map",
		"advertised.listeners=PLAINTEXT://0.0.0.0:1":                    "advertised.listeners",
		"advertised.listeners=SSL://a:1":                                "advertised.listeners",
		"inter.broker.listener.name=INSIDE":                             "inter.broker.listener.name",
		"max.connections.per.ip.overrides=a:b":                          "max.connections.per.ip.overrides",
		"replica.fetch.wait.max.ms=40000":                               "replica.socket.timeout.ms",
		"replica.lag.time.max.ms=100":                                   "replica.fetch.wait.max.ms",
		"group.consumer.session.timeout.ms=1":                           "group.consumer.session.timeout.ms",
		"group.consumer.min.session.timeout.ms=70000":                   "group.consumer.max.session.timeout.ms",
		"group.min.session.timeout.ms=2000000":                          "group.max.session.timeout.ms",
		"offsets.topic.compression.codec=5":                             "offsets.topic.compression.codec",
		"log.cleaner.dedupe.buffer.size=2000000\nlog.cleaner.threads=2": "log.cleaner.dedupe.buffer.size",
	} {
		_, err := Load(Options{File: "f", Data: []byte(text)})
		if err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestWhatDoesNotStopTheStartIsWarnedOf(t *testing.T) {
	s := load(t, Options{
		File: "f", Data: []byte("num.partitions=1\nnum.partitions=2\nno.such.key=1\nretention.ms=5\nmetrics.num.samples=3\n"),
		Environ: []string{"ZURAU_NO_SUCH=1", "ZURAU_=1", "ZURAUX=1"},
	})
	want := []string{
		"f:2: num.partitions is set again, the value of line 1 does not count",
		"environment variable ZURAU_NO_SUCH: there is no key no.such",
		"f:5: metrics.num.samples has no effect",
		"f:3: unknown key no.such.key",
		"f:4: unknown key retention.ms: it is a topic's, the broker's is log.retention.ms",
	}
	if got := s.Warnings(); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if n := (Layers{Static: s}).Int("num.partitions"); n != 2 {
		t.Errorf("num.partitions is %d", n)
	}
}

func TestAVariableNamesAKeyWithUnderscoresForDots(t *testing.T) {
	for variable, want := range map[string]string{
		"ZURAU_LOG_RETENTION_HOURS": "log.retention.hours",
		"ZURAU_ZURAU_WRITER":        "zurau.writer",
		"ZURAU_WRITER":              "zurau.writer",
		"ZURAU_LISTENER_NAME_MY__SIDE_SCRAM___SHA___256_SASL_JAAS_CONFIG": "listener.name.my_side.scram-sha-256.sasl.jaas.config",
		"ZURAU_NO_SUCH":      "",
		"LOG_RETENTION_MS":   "",
		"ZURAU_RETENTION_MS": "",
	} {
		if got, ok := EnvironmentKey(variable); ok != (want != "") || ok && got != want {
			t.Errorf("%s: %q %v", variable, got, ok)
		}
	}
}

func TestAFileIsRead(t *testing.T) {
	name := t.TempDir() + "/server.properties"
	if err := os.WriteFile(name, []byte("broker.id=7\nlog.dir=/a,/b\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	b := Layers{Static: load(t, Options{File: name})}.Broker()
	if b.NodeID != 7 || strings.Join(b.LogDirs, " ") != "/a /b" {
		t.Errorf("%d %v", b.NodeID, b.LogDirs)
	}
	if _, err := Load(Options{File: name + "x"}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that does not exist: %v", err)
	}
	if err := os.Truncate(name, maxFile+1); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(Options{File: name}); err == nil || !strings.Contains(err.Error(), "too many") {
		t.Errorf("a file that is too large: %v", err)
	}
	if _, err := Load(Options{Set: []string{"x"}}); err == nil {
		t.Error("--set without =")
	}
}
