package metadata

// Kind says what a record is about. The numbers are on disk: they are never reused.
type Kind uint32

const (
	KindClusterID   Kind = 1
	KindTopic       Kind = 2
	KindPartition   Kind = 3
	KindRemoveTopic Kind = 4
	KindConfig      Kind = 5
	KindProducerIDs Kind = 6
	KindBroker      Kind = 7
	KindStart       Kind = 8

	// 16 to 19 are kept for access control, 20 to 23 for quotas, 24 to 27 for SCRAM credentials.
)

// Record is one change of the image. The set of records is closed: see the types of this file.
type Record interface {
	Kind() Kind
	// appendBody encodes the fields of the newest version.
	appendBody(b []byte) []byte
	// apply changes the image that e builds, or says why that image cannot take the record.
	apply(e *edit) error
}

// ClusterIDRecord names the cluster. It is written once, at the first start, and can not be changed.
type ClusterIDRecord struct{ ID string }

// TopicRecord creates a topic without partitions. Name and id are free in the image.
type TopicRecord struct {
	ID       ID
	Name     string
	Internal bool // __consumer_offsets and its like
}

// PartitionRecord sets the whole state of one partition of a topic that exists, new or not. New partitions of a topic
// come in the order of their numbers, without gaps.
type PartitionRecord struct {
	Topic ID
	Partition
}

// RemoveTopicRecord removes a topic, its partitions and its configs.
type RemoveTopicRecord struct{ ID ID }

// ConfigRecord sets one config of a resource, or deletes it, which is no error where it is not set.
type ConfigRecord struct {
	Resource Resource
	Key      string
	Value    string // "" when Delete is set
	Delete   bool
}

// ProducerIDsRecord says that every producer id below Next was given away. Next never falls.
type ProducerIDsRecord struct{ Next int64 }

// BrokerRecord registers a broker or replaces its registration.
type BrokerRecord struct{ Broker }

// StartRecord says that a node started. It raises the leader epoch and the partition epoch of every partition that
// the node leads by one, so that clients and followers notice a lost tail.
type StartRecord struct{ Node int32 }

func (ClusterIDRecord) Kind() Kind   { return KindClusterID }
func (TopicRecord) Kind() Kind       { return KindTopic }
func (PartitionRecord) Kind() Kind   { return KindPartition }
func (RemoveTopicRecord) Kind() Kind { return KindRemoveTopic }
func (ConfigRecord) Kind() Kind      { return KindConfig }
func (ProducerIDsRecord) Kind() Kind { return KindProducerIDs }
func (BrokerRecord) Kind() Kind      { return KindBroker }
func (StartRecord) Kind() Kind       { return KindStart }

// Partition is the state of one partition. Its slices are shared and must not be changed.
type Partition struct {
	ID             int32 // number within the topic, from 0
	Leader         int32 // node id, -1 where there is none
	LeaderEpoch    int32
	PartitionEpoch int32 // raised by every change, checked by whoever proposes one (KIP-497)
	Replicas       []int32
	ISR            []int32
	Directories    []ID // log directory of each replica, in the order of Replicas
}

// Broker is a broker's registration. Its slices are shared and must not be changed.
type Broker struct {
	ID          int32
	Epoch       int64 // -1 in a record: the offset of the record itself, which is how an epoch is born
	Incarnation ID    // drawn anew at each start of the broker
	Endpoints   []Endpoint
	Rack        string // "" for none
	Directories []ID   // its log directories
	Fenced      bool   // not to be led or listed to clients
}

// Endpoint is where a broker's listener can be reached.
type Endpoint struct {
	Name string // listener name
	Host string
	Port uint16
}

// ResourceType is what a config belongs to, in the numbers of Kafka's ConfigResource.
type ResourceType int8

const (
	ResourceTopic         ResourceType = 2
	ResourceBroker        ResourceType = 4 // with the name "": the default of all brokers
	ResourceClientMetrics ResourceType = 16
	ResourceGroup         ResourceType = 32
)

// Resource names what a config belongs to: a topic by name, a broker by its decimal id.
type Resource struct {
	Type ResourceType
	Name string
}
