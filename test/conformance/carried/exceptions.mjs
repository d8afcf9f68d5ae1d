/**
 * Tests that say something about stdin and stdout, or about one stream or process, which a way to a server does not have:
 * by the ways, the tests' names (each begins with its statements) and the reason.
 */
export const exceptions = [
  {
    ways: ['websocket', 'http'],
    tests:
      /L3 |L2 (?:answers what agents have|does not wait|takes 3 s|SIG\w+ ends the agents and|SIGTERM after)/,
    reason: 'what ends a connection ends it in both directions: what is due then cannot be told any more',
  },
  {
    ways: ['connect'],
    tests: /L2 (?:answers what agents have|takes 3 s)/,
    reason: 'what is open has 2 s to end by itself, and only then the server is told that the editor is gone',
  },
  {
    ways: ['websocket', 'http'],
    tests: /L2 by reading/,
    reason: 'a connection that breaks is kept for a while, as the client may come back',
  },
  {
    ways: ['websocket', 'http', 'connect'],
    tests: /L6 holds back its agents/,
    reason: 'measures one process and its pipes: a server keeps more, and that is limited by serve.keep',
  },
  {
    ways: ['connect'],
    tests: /L6 is not read on/,
    reason: 'looks for what waits in a pipe: cai connect itself keeps as much as acp.queue_to_agent says',
  },
  {
    ways: ['websocket', 'http', 'connect'],
    tests: /S1 S2 two proxies at once/,
    reason:
      'a session that one server has open is refused by others with the same state, until it is closed there',
  },
  {
    ways: ['websocket', 'http', 'connect'],
    tests: /S2 a table that cannot be used/,
    reason: 'a server needs the folder of its state, which is none here, for its token',
  },
  {
    ways: ['websocket', 'http', 'connect'],
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
    tests: /S6 what an agent replays|U10 the announcement|P1 P2 the (?:editor gets the )?answer to/,
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

/*
 * A server reads of a message which kind, id, method and session it has, and modes and options that clients set; and it
 * carries lines, keeps their order, and ends connections. So these statements cannot differ by the way: about what `cai --acp` makes of what
 * else is in a message, and what it keeps for its next process. Statements that are not named here are always played.
 */
const alike = /(?:A\d+|I(?:[2-46-9]|1[01])|S(?:[2-589]|1[0-4])|U[1-58]|C[3-7]|M[124])/;

/** What a brief play leaves out: tests that say only such statements. */
export const leftOut = {
  ways: ['websocket', 'http', 'connect'],
  tests: new RegExp(`(?:^| )(?<![A-Z]\\d+ )(?:${alike.source} )+(?![A-Z]\\d+ )`),
  reason: 'left out as no server looks at it; played without --brief',
};
