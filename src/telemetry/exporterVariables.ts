const EXPORTER_VARIABLE = /^OTEL_EXPORTER_OTLP_/;

/**
 * Makes an exporter that does not see the variables of OpenTelemetry. An exporter reads them beside what it is given: it would send headers,
 * such as those for another collector, that our settings do not name.
 */
export function withoutExporterVariables<T>(make: () => T): T {
  const hidden = Object.entries(process.env).filter(([name]) => EXPORTER_VARIABLE.test(name));
  for (const [name] of hidden) delete process.env[name];
  try {
    return make();
  } finally {
    for (const [name, value] of hidden) process.env[name] = value;
  }
}
