package powerloss

// A lane is the turns of a driver: no more than inFlight of its appends are not answered.
type lane struct {
	*child
	slots chan struct{}
}

func newLane(c *child) lane { return lane{c, make(chan struct{}, inFlight)} }

// enter waits for a turn. It returns false where the process is to stop. One that is not durable comes after others that are, which
// would else never get their turn.
func (l *lane) enter(durable bool) bool {
	if !durable {
		select {
		case <-l.pace:
		case <-l.stop:
			return false
		}
	}
	select {
	case l.slots <- struct{}{}:
		return true
	case <-l.stop:
		return false
	}
}

// leave ends a turn. A durable one makes room for two that are not.
func (l *lane) leave(durable bool) {
	for range 2 {
		if durable {
			select {
			case l.pace <- struct{}{}:
			default:
			}
		}
	}
	<-l.slots
}

// quiet waits until everything is answered.
func (l *lane) quiet() {
	for range inFlight {
		l.slots <- struct{}{}
	}
	for range inFlight {
		<-l.slots
	}
}
