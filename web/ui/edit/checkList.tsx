/** Any number of some texts. Those that are chosen keep the order of the options. */
export function CheckList({
  options,
  chosen,
  onChoose,
  wordsOf = (option) => option,
}: {
  readonly options: readonly string[];
  readonly chosen: readonly string[];
  readonly onChoose: (chosen: readonly string[]) => void;
  /** What a person reads of an option. */
  readonly wordsOf?: (option: string) => string;
}) {
  const choose = (option: string, isOn: boolean): void =>
    onChoose(options.filter((each) => (each === option ? isOn : chosen.includes(each))));
  return (
    <div class="choices">
      {options.map((option) => (
        <label key={option}>
          <input
            type="checkbox"
            checked={chosen.includes(option)}
            onChange={(event) => choose(option, event.currentTarget.checked)}
          />{' '}
          <bdi>{wordsOf(option)}</bdi>
        </label>
      ))}
    </div>
  );
}
