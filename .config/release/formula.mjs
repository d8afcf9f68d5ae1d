/* The Homebrew formula of a version, which installs the npm package with Homebrew's own Node. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** `tarball`: the file of the npm package; `url`: where people load it. */
export function formulaOf({ tarball, url, description }) {
  const sha256 = createHash('sha256').update(readFileSync(tarball)).digest('hex');
  return `class Containai < Formula
  desc "${description}"
  homepage "${new URL('.', url).href}"
  url "${url}"
  sha256 "${sha256}"
  license "Apache-2.0"

  depends_on "node"

  def install
    system "npm", "install", *std_npm_args
    bin.install_symlink Dir["#{libexec}/bin/*"]
    generate_completions_from_executable(bin/"cai", "completion")
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/cai --version")
    initialize = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}'
    assert_match '"protocolVersion":1', pipe_output("#{bin}/cai --acp claude", "#{initialize}\\n")
  end
end
`;
}
