package server_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/server"
	"github.com/zurau/zurau/server/config"
	"github.com/zurau/zurau/tests/inprocess"
	"github.com/zurau/zurau/tests/raw"
)

func TestSeveralBrokersRunInOneProcess(t *testing.T) {
	clusters := map[string]bool{}
	var brokers []*broker
	for i := range 3 {
		b := start(t, t.TempDir(), fmt.Sprint("node.id=", i+1))
		c := b.dial()
		c.create("t", 1)
		c.put("t", 0, batch(fmt.Sprint("of broker ", i)))
		clusters[b.ClusterID()] = true
		brokers = append(brokers, b)
	}
	if len(clusters) != 3 {
		t.Errorf("%d cluster ids of 3 brokers", len(clusters))
	}
	brokers[1].stop() // the others go on
	for _, i := range []int{0, 2} {
		if got := brokers[i].dial().values("t"); !reflect.DeepEqual(got, []string{fmt.Sprint("of broker ", i)}) {
			t.Errorf("broker %d has %q", i, got)
		}
	}
}

func TestPort0IsAnyFreePortAndClientsAreToldWhich(t *testing.T) {
	b := start(t, t.TempDir())
	port := b.Addrs()[0].(*net.TCPAddr).Port
	got := ask[*kmsg.MetadataResponse](b.dial(), &kmsg.MetadataRequest{Version: 9})
	if port == 0 || len(got.Brokers) != 1 || got.Brokers[0].Host != "127.0.0.1" || got.Brokers[0].Port != int32(port) {
		t.Errorf("on port %d: %+v", port, got.Brokers)
	}
}

func TestTheZeroOptionsAreABrokerOnKafkasPort(t *testing.T) {
	t.Chdir(t.TempDir())
	s, err := server.Start(t.Context(), server.Options{})
	if err != nil && strings.Contains(err.Error(), "address already in use") {
		t.Skip("port 9092 is in use")
	}
	if err != nil {
		t.Fatal(err)
	}
	if s.Addrs()[0].String() != "127.0.0.1:9092" || s.Dirs()[0] != "zurau-data" {
		t.Errorf("on %s in %s", s.Addrs()[0], s.Dirs())
	}
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// What a version does not serve as asked, it refuses: with the key, the value, and what was expected.
func TestAnUnsupportedConfigurationIsRefused(t *testing.T) {
	for set, want := range map[string]string{
		"metadata.log.dir=/elsewhere":             "metadata.log.dir: /elsewhere",
		"process.roles=controller":                "process.roles: expected broker,controller",
		"process.roles=broker":                    "process.roles: expected broker,controller",
		"controller.quorum.voters=0@a:1,1@b:1":    "controller.quorum.voters: 2 voters",
		"controller.quorum.voters=7@localhost:1":  "controller.quorum.voters: 7@localhost:1, and node.id is",
		"authorizer.class.name=a.B":               "authorizer.class.name: a.B",
		"listeners=SSL://127.0.0.1:0":             "listeners: the security protocol of SSL is SSL, and this version serves PLAINTEXT alone",
		"controller.listener.names=PLAINTEXT":     "listeners: all are in controller.listener.names",
		"advertised.listeners=PLAINTEXT://[::]:1": "advertised.listeners",
	} {
		dir := t.TempDir()
		s, err := inprocess.Try(t.Context(), dir, new(raw.Log), set)
		if err == nil {
			s.Close(t.Context())
			t.Errorf("%s was taken", set)
			continue
		}
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q does not say %q", set, err, want)
		}
		if files, _ := os.ReadDir(dir); len(files) > 0 {
			t.Errorf("%s: %s was made", set, files[0].Name())
		}
	}
}

// The file that Apache Kafka ships is one: its controller's listener is nobody's here.
func TestAControllersListenerIsNotServed(t *testing.T) {
	b := start(t, t.TempDir(), "process.roles=broker,controller", "node.id=1", "controller.quorum.voters=1@localhost:9093",
		"listeners=PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:0", "controller.listener.names=CONTROLLER",
		"listener.security.protocol.map=CONTROLLER:SSL,PLAINTEXT:PLAINTEXT", "inter.broker.listener.name=PLAINTEXT")
	if len(b.Addrs()) != 1 {
		t.Errorf("listens on %v", b.Addrs())
	}
	b.dial().create("t", 1)
}

func TestEachListenersClientsAreToldItsOwnAddress(t *testing.T) {
	b := start(t, t.TempDir(), "listeners=IN://127.0.0.1:0,OUT://127.0.0.1:0", "inter.broker.listener.name=IN",
		"listener.security.protocol.map=IN:PLAINTEXT,OUT:PLAINTEXT", "advertised.listeners=IN://localhost:1234,OUT://zurau.example:9999")
	for i, want := range []string{"localhost:1234", "zurau.example:9999"} {
		c, err := net.Dial("tcp", b.Addrs()[i].String())
		if err != nil {
			t.Fatal(err)
		}
		got := ask[*kmsg.MetadataResponse](client{t, c}, &kmsg.MetadataRequest{Version: 9}).Brokers
		if len(got) != 1 || fmt.Sprintf("%s:%d", got[0].Host, got[0].Port) != want {
			t.Errorf("listener %d: %+v, want %s", i, got, want)
		}
		c.Close()
	}
}

func TestADirectoryOfAnotherNodeIsRefused(t *testing.T) {
	dir := t.TempDir()
	b := start(t, dir, "node.id=1")
	b.dial().create("t", 1)
	b.stop()
	_, err := inprocess.Try(t.Context(), dir, new(raw.Log), "node.id=2")
	if err == nil || !strings.Contains(err.Error(), "of node.id 1, and this broker is 2") {
		t.Fatalf("node 2 on the directory of node 1: %v", err)
	}
	start(t, dir, "node.id=1").dial().put("t", 0, batch("v"))
}

func TestADirectoryInUseIsRefused(t *testing.T) {
	b := start(t, t.TempDir())
	s, err := inprocess.Try(t.Context(), b.dir, new(raw.Log))
	if err == nil {
		s.Close(t.Context())
		t.Fatal("two brokers in one directory")
	}
	b.dial().create("t", 1)
}

// Logs whose topics nobody knows any more are not to be given to a new cluster as if nothing had happened.
func TestADirectoryThatLostItsMetadataIsRefused(t *testing.T) {
	dir := t.TempDir()
	b := start(t, dir)
	c := b.dial()
	c.create("t", 1)
	c.put("t", 0, batch("v"))
	b.stop()
	lost, err := filepath.Glob(filepath.Join(dir, "zurau-metadata.*"))
	if err != nil || len(lost) == 0 {
		t.Fatalf("%v, %v", lost, err)
	}
	for _, name := range lost {
		if err := os.Rename(name, filepath.Join(t.TempDir(), "kept")); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // not the first time alone
		_, err = inprocess.Try(t.Context(), dir, new(raw.Log))
		if err == nil || !strings.Contains(err.Error(), "is of cluster "+b.ClusterID()) {
			t.Fatalf("a directory without its metadata: %v", err)
		}
	}
	if err := os.Remove(filepath.Join(dir, "meta.properties")); err != nil {
		t.Fatal(err)
	}
	again := start(t, dir)
	if _, err := os.Stat(filepath.Join(dir, "t-0", "00000000000000000000.log")); err != nil {
		t.Error(err)
	}
	if !strings.Contains(again.log.String(), "log=t-0") {
		t.Errorf("nobody was told of the log: %s", again.log)
	}
}

func TestAFailedStartLeavesNothingRunning(t *testing.T) {
	b := start(t, t.TempDir())
	dir := t.TempDir()
	if _, err := inprocess.Try(t.Context(), dir, new(raw.Log), "listeners=PLAINTEXT://"+b.Addrs()[0].String()); err == nil {
		t.Fatal("two brokers on one port")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := inprocess.Try(ended, dir, new(raw.Log)); !errors.Is(err, context.Canceled) {
		t.Fatalf("a start that was given up: %v", err)
	}
	start(t, dir).dial().create("t", 1) // the directory is free; goroutines are TestMain's
}

func TestABadValueIsRefusedWithWhatWasExpected(t *testing.T) {
	_, err := config.Load(config.Options{Set: []string{"log.retention.ms=yesterday"}})
	var bad *config.SettingError
	if !errors.As(err, &bad) || bad.Key != "log.retention.ms" || bad.Expected == "" {
		t.Errorf("%v", err)
	}
}
