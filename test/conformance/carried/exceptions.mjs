/**
 * Tests that say something about stdin and stdout, or about one stream, which a way to a server does not have: by the
 * ways, the tests' names (each begins with its statements) and the reason.
 */
export const exceptions = [
  {
    ways: ['websocket', 'http'],
    tests:
      /L3 |L2 (?:answers what agents have|does not wait|takes 3 s|SIG\w+ ends the agents and|SIGTERM after)/,
    reason: 'what ends a connection ends it in both directions: what is due then cannot be told any more',
  },
  {
    ways: ['websocket', 'http'],
    tests: /L2 by reading/,
    reason: 'a connection that breaks is kept for a while, as the client may come back',
  },
  {
    ways: ['websocket', 'http'],
    tests: /L6 holds back its agents/,
    reason: 'measures one process and its pipes: a server keeps more, and that is limited by serve.keep',
  },
  {
    ways: ['websocket', 'http'],
    tests: /S2 a table that cannot be used/,
    reason: 'a server needs the folder of its state, which is none here, for its token',
  },
  {
    ways: ['websocket', 'http'],
    tests: /T1 has messages and nothing else where the log/,
    reason: 'a server says on its stderr what it serves',
  },
  {
    ways: ['websocket'],
    tests: /editor sends bytes that are no UTF-8|bytes that are no UTF-8 from the editor/,
    reason: 'text frames are UTF-8: RFC 6455 has the server end the connection with 1007',
  },
  {
    ways: ['http'],
    tests: /S6 what an agent replays|P1 P2 the (?:editor gets the )?answer to/,
    reason: 'there is a stream for each session and one for the connection, and order only within each',
  },
  {
    ways: ['http'],
    tests: /J6 requests that wait for an agent that cannot be started/,
    reason: 'each message is a request of its own: the agent has ended before the last of them comes',
  },
  {
    ways: ['http'],
    tests: /I5 a request before initialize/,
    reason: 'there is no connection yet: the answer is 400',
  },
  {
    ways: ['http'],
    tests: /D1 .*(?:besides others within|behind what looks like it|that is no message)/,
    reason: 'a body that is no message is answered 400, however long it is',
  },
];
