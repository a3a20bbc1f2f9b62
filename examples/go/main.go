// A handler of net/http behind the middleware of the client.
package main

import (
	"fmt"
	"log"
	"net/http"
	"os"
	"time"

	keystile "github.com/keystile/keystile/clients/go"
)

func main() {
	client, err := keystile.New(keystile.Options{})
	if err != nil {
		log.Fatal(err)
	}
	orders := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, "orders of", keystile.VerdictFrom(r.Context()).OwnerID)
	})
	http.Handle("GET /orders", client.Protect(orders, keystile.Route{
		Cost:        keystile.Int(2),
		Permissions: keystile.Permission("orders.read"),
	}))
	port := os.Getenv("PORT")
	if port == "" {
		port = "3000"
	}
	server := http.Server{Addr: "127.0.0.1:" + port, ReadHeaderTimeout: 5 * time.Second}
	log.Fatal(server.ListenAndServe())
}
