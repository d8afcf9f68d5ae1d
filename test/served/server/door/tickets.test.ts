import { Tickets, type BrowserSecrets } from '../../../../src/served/server/door/tickets';

const ann = { name: 'ann' };
const bob = { name: 'bob' };
const minuteMs = 60_000;
let now: number;
let tickets: Tickets;

beforeEach(() => {
  now = 0;
  tickets = new Tickets(() => now);
});

function secretsOf(visitor = ann, place = 'localhost:1'): BrowserSecrets {
  return tickets.redeem(tickets.newTicket(visitor), place)!;
}

describe('a ticket', () => {
  test('works once', () => {
    const ticket = tickets.newTicket(ann);

    expect(ticket).toMatch(/^[\w-]{43}$/);
    expect(tickets.redeem(ticket, 'a:1')!.visitor).toBe(ann);
    expect(tickets.redeem(ticket, 'a:1')).toBeUndefined();
  });

  test('works for five minutes', () => {
    const [early, late] = [tickets.newTicket(ann), tickets.newTicket(ann)];

    now = 5 * minuteMs - 1;
    expect(tickets.redeem(early, 'a:1')).toBeDefined();
    now = 5 * minuteMs;
    expect(tickets.redeem(late, 'a:1')).toBeUndefined();
  });

  test('is no cookie, and a cookie no ticket', () => {
    const [ticket, { cookie, key }] = [tickets.newTicket(ann), secretsOf()];

    for (const place of ['', 'localhost:1'])
      for (const pair of [
        { cookie: ticket, key: ticket },
        { cookie: ticket, key },
      ])
        expect(tickets.holderOf(pair, place)).toBeUndefined();
    expect(tickets.redeem(cookie, 'localhost:1')).toBeUndefined();
    expect(cookie).not.toBe(ticket);
  });

  test.each(['', 'x', '__proto__'])('is never %j', (text) =>
    expect(tickets.redeem(text, 'a:1')).toBeUndefined(),
  );

  test('makes room when there are many of one visitor, and takes none from others', () => {
    const bobs = tickets.newTicket(bob);
    const all = Array.from({ length: 9 }, () => tickets.newTicket(ann));

    const good = all.map((ticket) => tickets.redeem(ticket, 'a:1') !== undefined);
    expect(good).toEqual([false, ...Array.from({ length: 8 }, () => true)]);
    expect(tickets.redeem(bobs, 'a:1')!.visitor).toBe(bob);
  });
});

describe('a cookie', () => {
  test('stands for its visitor for twelve hours, at one place', () => {
    const secrets = secretsOf(ann, 'localhost:1');

    expect(tickets.holderOf(secrets, 'localhost:1')).toBe(ann);
    expect(tickets.holderOf(secrets, 'localhost:2')).toBeUndefined();
    expect(tickets.holderOf(secrets, '127.0.0.1:1')).toBeUndefined();
    now = 12 * 60 * minuteMs - 1;
    expect(tickets.holderOf(secrets, 'localhost:1')).toBe(ann);
    now += 1;
    expect(tickets.holderOf(secrets, 'localhost:1')).toBeUndefined();
  });

  test('needs its own key', () => {
    const [{ cookie, key }, other] = [secretsOf(), secretsOf()];

    for (const wrong of ['', cookie, other.key, `${key}x`])
      expect(tickets.holderOf({ cookie, key: wrong }, 'localhost:1')).toBeUndefined();
    expect(tickets.holderOf({ cookie, key }, 'localhost:1')).toBe(ann);
  });

  test('makes room when there are many of one visitor', () => {
    const bobs = secretsOf(bob);
    const all = Array.from({ length: 33 }, () => secretsOf(ann));

    expect(
      all.map((secrets) => tickets.holderOf(secrets, 'localhost:1')).filter((each) => each === ann),
    ).toHaveLength(32);
    expect(tickets.holderOf(all[0]!, 'localhost:1')).toBeUndefined();
    expect(tickets.holderOf(bobs, 'localhost:1')).toBe(bob);
  });
});
