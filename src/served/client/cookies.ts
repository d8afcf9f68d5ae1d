/**
 * The cookies of one server. A balancer in front of several servers tells by them which one has the connection.
 * Source: ACP, remote transport: clients must keep a server's cookies, and return them on all requests.
 */
export class Cookies {
  readonly #values = new Map<string, string>();

  /** Takes the `Set-Cookie` headers of an answer. All requests go to one path, so that attributes about places mean nothing. */
  take(headers: readonly string[] = []): void {
    for (const header of headers) {
      const [, name, value] = /^\s*([^=;\s]+)\s*=\s*([^;]*)/.exec(header) ?? [];
      if (name === undefined) continue;
      const [, seconds] = /;\s*max-age\s*=\s*(-?\d+)/i.exec(header) ?? [];
      const [, expires] = /;\s*expires\s*=\s*([^;]+)/i.exec(header) ?? [];
      const isOver = seconds !== undefined ? Number(seconds) <= 0 : Date.parse(expires ?? '') < Date.now();
      if (isOver) this.#values.delete(name);
      else this.#values.set(name, value!.trim());
    }
  }

  get headers(): Readonly<Record<string, string>> {
    if (this.#values.size === 0) return {};
    return { Cookie: [...this.#values].map(([name, value]) => `${name}=${value}`).join('; ') };
  }
}
