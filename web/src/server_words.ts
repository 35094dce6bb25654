// Sentences of the server in Korean. Each is a pattern of the English one; $1, $2, ... are what it has in those places.
const sentences: [RegExp, string][] = [
];

export function inKorean(text: string): string {
  for (const [pattern, korean] of sentences) {
    const found = pattern.exec(text);
    if (found) return korean.replace(/\$(\d)/g, (_, place) => inKorean(found[Number(place)] ?? ""));
  }
  return text;
}
