package main

import "github.com/spf13/cobra"

func topicCommand() *cobra.Command {
	return group("topic", "Create, list, describe, alter and delete topics",
		topicCreateCommand(), topicListCommand(), topicDescribeCommand(), topicAlterCommand(), topicDeleteCommand())
}

// about names a topic in errors.
func about(topic string) string { return "topic " + topic }

// atLeastOne checks that a command got names.
func atLeastOne(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usagef("%s: the name of a topic is missing", named(c))
	}
	for _, a := range args {
		if a == "" {
			return usagef("%s: the name of a topic is empty", named(c))
		}
	}
	return nil
}
