package server_test

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/tests/raw"
)

// set changes a key of the broker (name "1") or of all brokers (""), and returns the code. null takes the key back.
func (c client) set(name, key string, value *string) int16 {
	c.t.Helper()
	config := kmsg.IncrementalAlterConfigsRequestResourceConfig{Name: key, Value: value}
	if value == nil {
		config.Op = kmsg.IncrementalAlterConfigOpDelete
	}
	req := &kmsg.IncrementalAlterConfigsRequest{Version: 1, Resources: []kmsg.IncrementalAlterConfigsRequestResource{{
		ResourceType: kmsg.ConfigResourceTypeBroker, ResourceName: name, Configs: []kmsg.IncrementalAlterConfigsRequestResourceConfig{config}}}}
	return ask[*kmsg.IncrementalAlterConfigsResponse](c, req).Resources[0].ErrorCode
}

func (c client) mustSet(name, key, value string) {
	c.t.Helper()
	if code := c.set(name, key, &value); code != 0 {
		c.t.Fatalf("%s=%s: error %d", key, value, code)
	}
}

// served reports whether one more connection is served.
func (b *broker) served() bool {
	c := b.dial()
	defer c.Close()
	return c.alive()
}

// alive reports whether the connection is served: the other thing is that it is closed.
func (c client) alive() bool {
	// Of a connection that is closed at once even the writing may fail.
	_, _ = c.Write(kmsg.NewRequestFormatter().AppendRequest(nil, &kmsg.ApiVersionsRequest{}, 7))
	_, err := c.read()
	if err != nil && !raw.Closed(err) {
		c.t.Fatal(err)
	}
	return err == nil
}

// A change is in force when it is answered, for the whole cluster or for the broker, and after a restart.
func TestLimitsOfConnectionsChangeWhileTheBrokerRuns(t *testing.T) {
	b := start(t, t.TempDir())
	c := b.dial()
	if !b.served() {
		t.Fatal("without a limit")
	}
	for _, s := range []struct{ name, key, value string }{
		{"", "max.connections.per.ip", "1"},
		{"1", "max.connections.per.ip", "1"},
		{"", "max.connections", "1"},
		{"1", "max.connections", "0"}, // one at least
		{"", "max.connections.per.ip.overrides", "127.0.0.1:1"},
		{"1", "listener.name.plaintext.max.connections", "1"},
	} {
		c.mustSet(s.name, s.key, s.value)
		if b.served() {
			t.Errorf("%s=%s of broker %q: a second connection is served", s.key, s.value, s.name)
		}
		if code := c.set(s.name, s.key, nil); code != 0 {
			t.Fatalf("%s: error %d", s.key, code)
		}
		if !b.served() {
			t.Errorf("%s of broker %q was taken back, and no connection is served", s.key, s.name)
		}
	}
	c.mustSet("", "max.connections", "1")
	b.stop()
	b = start(t, b.dir)
	c = b.dial()
	c.create("t", 1)
	if b.served() {
		t.Error("after a restart a second connection is served")
	}
}

// The addresses of a host are looked up in the background.
func TestAHostMayHaveALimitOfItsOwn(t *testing.T) {
	b := start(t, t.TempDir(), "max.connections.per.ip.overrides=localhost:2", "max.connections.per.ip=0")
	for range 2 { // to be held: one that is refused is tried again, until the address is known and earlier ones are gone
		for c := b.dial(); ; c = b.dial() {
			if c.alive() {
				break
			}
		}
	}
	if b.served() {
		t.Error("a third connection is served")
	}
}

func TestHowLongProducersAreRememberedChangesWhileTheBrokerRuns(t *testing.T) {
	b := start(t, t.TempDir(), "log.retention.check.interval.ms=1")
	c := b.dial()
	c.create("t", 1)
	put := func(sequence int32) int16 {
		records := batch("v").Producer(7, 0, sequence).Bytes()
		return ask[*kmsg.ProduceResponse](c, produceRequest("t", 0, -1, records)).Topics[0].Partitions[0].ErrorCode
	}
	if code := put(0); code != 0 {
		t.Fatalf("error %d", code)
	}
	if code := put(5); code != kerr.OutOfOrderSequenceNumber.Code {
		t.Fatalf("a gap: error %d", code)
	}
	c.mustSet("", "producer.id.expiration.ms", "1")
	for code := put(5); code != 0; code = put(5) { // the next look forgets it
		if code != kerr.OutOfOrderSequenceNumber.Code {
			t.Fatalf("error %d", code)
		}
	}
}

// The largest batch of a topic is the broker's where it has none of its own, and its new segments are too.
func TestDefaultsOfTopicsChangeWhileTheBrokerRuns(t *testing.T) {
	b := start(t, t.TempDir())
	c := b.dial()
	c.create("t", 1)
	put := func() int16 {
		return ask[*kmsg.ProduceResponse](c, produceRequest("t", 0, -1, batch(string(make([]byte, 1000))).Bytes())).Topics[0].Partitions[0].ErrorCode
	}
	for _, name := range []string{"", "1"} {
		c.mustSet(name, "message.max.bytes", "500")
		if code := put(); code != kerr.MessageTooLarge.Code {
			t.Errorf("too large for broker %q: error %d", name, code)
		}
		if code := c.set(name, "message.max.bytes", nil); code != 0 {
			t.Fatalf("error %d", code)
		}
		if code := put(); code != 0 {
			t.Errorf("broker %q: error %d", name, code)
		}
	}
}

func TestReadOnlyKeysOfABrokerCannotBeChanged(t *testing.T) {
	c := start(t, t.TempDir()).dial()
	for _, key := range []string{"connections.max.idle.ms", "socket.send.buffer.bytes", "socket.request.max.bytes", "log.dirs",
		"fetch.max.bytes", "log.retention.hours", "log.retention.check.interval.ms", "zurau.memory.bytes", "zurau.network.loops"} {
		for _, name := range []string{"", "1"} {
			value := "1048576"
			if code := c.set(name, key, &value); code != kerr.InvalidRequest.Code {
				t.Errorf("%s of broker %q: error %d, want INVALID_REQUEST", key, name, code)
			}
		}
	}
}
