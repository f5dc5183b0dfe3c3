// Amqp takes a job from a queue of RabbitMQ with github.com/rabbitmq/amqp091-go: two workers see
// that there is one, and one of them finds none. With -fixed a worker asks for it, and looks
// whether it has got one.
package main

import (
	"context"
	"log"
	"sync"

	amqp "github.com/rabbitmq/amqp091-go"

	"example.com/servers/flags"
)

func main() {
	fixed := flags.Fixed()
	conn, err := amqp.Dial("amqp://guest:guest@127.0.0.1:5672/")
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	channel, err := conn.Channel()
	if err != nil {
		log.Fatal(err)
	}
	if _, err := channel.QueueDeclare("jobs", false, false, false, false, nil); err != nil {
		log.Fatal(err)
	}
	if err := channel.PublishWithContext(context.Background(), "", "jobs", false, false,
		amqp.Publishing{Body: []byte("job")}); err != nil {
		log.Fatal(err)
	}
	work := func() error {
		if !fixed {
			queue, err := channel.QueueDeclarePassive("jobs", false, false, false, false, nil)
			if err != nil || queue.Messages == 0 {
				return err
			}
		}
		job, got, err := channel.Get("jobs", true)
		if err != nil || fixed && !got {
			return err
		}
		if string(job.Body) != "job" {
			log.Fatalf("the job is %q", job.Body)
		}
		return nil
	}
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			if err := work(); err != nil {
				log.Fatal(err)
			}
		})
	}
	both.Wait()
}
