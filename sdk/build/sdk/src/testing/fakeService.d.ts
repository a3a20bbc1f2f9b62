/** The endpoints that the fake has. */
export declare class FakeService {
  #private;
  constructor(nowMs: () => number);
  /** Answers one request as the service would: status and body. */
  answer(
    path: string,
    body: unknown,
  ): {
    readonly status: number;
    readonly body: object;
  };
}
