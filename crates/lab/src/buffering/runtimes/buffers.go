// Usage: buffers three|ten|fill|version PATH plain|buffered: small writes.
package main

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"runtime"
)

func check(err error) {
	if err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
}

func write(out io.Writer, record []byte, times int) {
	for i := 0; i < times; i++ {
		_, err := out.Write(record)
		check(err)
	}
}

func main() {
	if os.Args[1] == "version" {
		os.Stdout.WriteString(runtime.Version() + "\n")
		return
	}
	file, err := os.Create(os.Args[2])
	check(err)
	var out io.Writer = file
	flush := func() error { return nil }
	if os.Args[3] == "buffered" {
		buffer := bufio.NewWriter(file)
		out, flush = buffer, buffer.Flush
	}
	switch os.Args[1] {
	case "three":
		for _, word := range []string{"one", "two", "three"} {
			write(out, []byte(word), 1)
		}
	case "ten":
		write(out, bytes.Repeat([]byte("x"), 1024), 10)
	default:
		write(out, []byte("x"), 300000)
	}
	check(flush())
	check(file.Close())
}
