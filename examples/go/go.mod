module example

go 1.23

require github.com/keystile/keystile/clients/go v0.1.0

// The client of this checkout.
replace github.com/keystile/keystile/clients/go => ../../clients/go
