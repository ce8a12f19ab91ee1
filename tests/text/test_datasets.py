"""Datasets of texts, from tiny archives in the published formats. Numbers are those of the official package 3.3.1 for the
same archives, except where it numbers words by chance (MovieLens) or mixes up the languages (WMT 16)."""

import gzip
import io
import tarfile
import zipfile

import numpy as np
import pytest

import paddle

T = paddle.text


@pytest.fixture
def tar(tmp_path):
    def make(name, files):
        path = str(tmp_path / name)
        with tarfile.open(path, "w:gz") as archive:
            for member, content in files.items():
                content = content if isinstance(content, bytes) else content.encode()
                info = tarfile.TarInfo(member)
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
        return path

    return make


def items(dataset):
    return [[np.asarray(field).tolist() for field in dataset[i]] for i in range(len(dataset))]


IMDB = {
    "aclImdb/train/pos/0_9.txt": "A good, good movie! It's great.\n",
    "aclImdb/train/pos/1_9.txt": "the good the bad... and THE ugly",
    "aclImdb/train/neg/0_1.txt": "bad bad bad movie,\tawful.",
    "aclImdb/train/neg/1_1.txt": "the worst; movie-ever\nnot good",
    "aclImdb/test/pos/0_8.txt": "good good <br /> movie",
    "aclImdb/test/neg/0_2.txt": "bad the end",
    "aclImdb/train/unsup/0_0.txt": "unused words unused",
    "aclImdb/README": "x",
}


def test_imdb(tar):
    path = tar("imdb.tgz", IMDB)
    data = T.Imdb(path, "train", cutoff=1)
    assert data.word_idx == {b"good": 0, b"bad": 1, b"the": 2, b"movie": 3, "<unk>": 4}
    want = [[[4, 0, 0, 3, 4, 4], [0]], [[2, 0, 2, 1, 4, 2, 4], [0]], [[1, 1, 1, 3, 4], [1]], [[2, 4, 4, 4, 0], [1]]]
    assert items(data) == want and data[0][0].dtype == data[0][1].dtype == np.int64
    assert items(T.Imdb(path, "test", cutoff=0)) == [[[0, 0, 7, 3], [0]], [[1, 2, 8], [1]]]


def test_imikolov(tar):
    path = tar(
        "ptb.tgz",
        {
            "./simple-examples/data/ptb.train.txt": " the cat sat on the mat \n the dog <unk> the cat \n a b c d e f\n",
            "./simple-examples/data/ptb.valid.txt": " the the cat N ran \n a dog\n",
            "./simple-examples/data/ptb.test.txt": " zzz the mat\n cat\n",
        },
    )
    data = T.Imikolov(path, "SEQ", mode="test", min_word_freq=1)
    assert data.word_idx == {b"the": 0, "<e>": 1, "<s>": 2, b"cat": 3, b"a": 4, b"dog": 5, "<unk>": 6}
    data = T.Imikolov(path, "NGRAM", 3, "test", min_word_freq=0)
    assert items(data) == [[2, 17, 0], [17, 0, 13], [0, 13, 1], [2, 3, 1]] and data[0][0].dtype == np.int64
    data = T.Imikolov(path, "SEQ", mode="train", min_word_freq=0)
    assert items(data)[0] == [[2, 0, 3, 16, 14, 0, 13], [0, 3, 16, 14, 0, 13, 1]] and len(data) == 3
    assert len(T.Imikolov(path, "SEQ", 5, "train", 0)) == 0 and len(T.Imikolov(path, "SEQ", 6, "train", 0)) == 1
    assert data.word_count([b"a b a"]) == {b"a": 2, b"b": 1, "<s>": 1, "<e>": 1}
    for bad in (("NGRAM", -1), ("foo", 2)):
        with pytest.raises(ValueError, match="Imikolov"):
            T.Imikolov(path, *bad, min_word_freq=0)
    with pytest.raises(ValueError, match="min_word_freq"):
        T.Imikolov(path, "SEQ")


def movielens(path, ratings="1::1::5::9\n1::2::3::9\n2::5::4::9\n2::1::1::9\n3::2::2::9\n3::5::5::9\n3::1::4::9\n"):
    with zipfile.ZipFile(path, "w") as z:
        films = "1::Toy Story (1995)::Animation|Comedy\n2::Jumanji (1995)::Adventure\n5::Caf\xe9 of the Story (1996)::Drama\n"
        z.writestr("ml-1m/movies.dat", films.encode("latin1"))
        z.writestr("ml-1m/users.dat", "1::F::1::10::48067\n2::M::56::16::70072\n3::M::25::15::55117\n")
        z.writestr("ml-1m/ratings.dat", ratings)
    return str(path)


def test_movielens(tmp_path):
    path = movielens(tmp_path / "ml.zip")
    data = T.Movielens(path)
    assert data.movie_title_dict == {"café": 0, "jumanji": 1, "of": 2, "story": 3, "the": 4, "toy": 5}
    assert items(data)[:2] == [
        [[1], [1], [0], [10], [1], [1, 2], [5, 3], [5.0]],
        [[1], [1], [0], [10], [2], [0], [1], [1.0]],
    ]
    users = [[row[0][0], row[4][0]] for row in items(T.Movielens(path, "test", 0.5, 3))]
    assert users == [[2, 5], [3, 1]] and len(T.Movielens(path, "train", 0.5, 3)) == 5
    assert data.movie_info[5].categories == ["Drama"] and data.user_info[3].job_id == 15
    with pytest.raises(ValueError, match="damaged"):
        T.Movielens(movielens(tmp_path / "bad.zip", "1::7::5::9\n"))


def test_uci_housing(tmp_path):
    table = np.random.RandomState(0).rand(10, 14) * 50
    path = tmp_path / "housing.data"
    np.savetxt(path, table, "%9.4f")
    train, test = T.UCIHousing(str(path)), T.UCIHousing(str(path), "test")
    assert (len(train), len(test)) == (8, 2) and train[0][0].dtype == np.float32 and train[0][1].shape == (1,)
    assert np.allclose(train[0][0][:3], [-0.00992138, 0.6029118, 0.03713661]) and np.isclose(train[0][1][0], 46.2798)
    assert np.allclose(test[0][0][:2], [0.14747061, 0.01493496], atol=1e-6)
    path.write_text("1 2 3")
    with pytest.raises(ValueError, match="14 columns"):
        T.UCIHousing(str(path))


def test_wmt14(tar):
    long = "the\t" + " ".join(["das"] * 80) + "\n" + "the\t" + " ".join(["das"] * 81) + "\n"
    path = tar(
        "wmt14.tgz",
        {
            "wmt14/train/train": "the house is small\tdas Haus ist klein\nthe big cat\tdie grosse Katze\nbroken\n",
            "wmt14/test/test": "the cat\tdas Katze\n" + long,
            "wmt14/gen/gen": "house big\tHaus\n",
            "wmt14/src.dict": "<s>\n<e>\n<unk>\nthe\nhouse\nis\ncat\n",
            "wmt14/trg.dict": "<s>\n<e>\n<unk>\ndas\nHaus\nist\nKatze\n",
        },
    )
    data = T.WMT14(path, "train", 5)
    assert items(data) == [
        [[0, 3, 4, 2, 2, 1], [0, 3, 4, 2, 2], [3, 4, 2, 2, 1]],
        [[0, 3, 2, 2, 1], [0, 2, 2, 2], [2, 2, 2, 1]],
    ]
    assert data.get_dict()[1] == {"<s>": 0, "<e>": 1, "<unk>": 2, "das": 3, "Haus": 4}
    assert data.get_dict(reverse=True)[0][4] == "house"
    test = T.WMT14(path, "test", 100)
    assert items(test)[0] == [[0, 3, 6, 1], [0, 3, 6], [3, 6, 1]] and len(test) == 2  # one is too long
    assert items(T.WMT14(path, "gen", 5)) == [[[0, 4, 2, 1], [0, 4], [4, 1]]]
    with pytest.raises(ValueError, match="dict_size"):
        T.WMT14(path)


def test_wmt16(tar):
    train = "the house is the small\tdas Haus ist das klein\nthe big cat\tdie grosse Katze\nbroken\n"
    path = tar(
        "wmt16.tgz", {"wmt16/train": train, "wmt16/val": "the cat\tdas Katze\n", "wmt16/test": "a\tein\nthe\tdas\n"}
    )
    data = T.WMT16(path, "train", 5, 6)
    assert items(data)[0] == [[0, 3, 4, 2, 3, 2, 1], [0, 3, 4, 5, 3, 2], [3, 4, 5, 3, 2, 1]] and len(data) == 2
    assert data.get_dict("de") == {"<s>": 0, "<e>": 1, "<unk>": 2, "das": 3, "Haus": 4, "ist": 5}
    assert data.get_dict("en", reverse=True)[3] == "the"
    assert items(T.WMT16(path, "val", 100, 100, "de")) == [[[0, 3, 9, 1], [0, 3, 8], [3, 8, 1]]]
    for bad in (dict(src_dict_size=5), dict(src_dict_size=5, trg_dict_size=5, lang="fr")):
        with pytest.raises(ValueError, match="WMT16"):
            T.WMT16(path, **bad)


@pytest.fixture
def conll(tar, tmp_path):
    def make(props):
        release = "conll05st-release/test.wsj"
        words = "The\ncat\nsat\n.\n\nDogs\nbark\nand\nrun\n\n"
        data = tar(
            "conll.tgz",
            {
                f"{release}/words/test.wsj.words.gz": gzip.compress(words.encode()),
                f"{release}/props/test.wsj.props.gz": gzip.compress(props.encode()),
            },
        )
        for name, lines in (
            ("words", "<unk> the cat sat The bos eos and"),
            ("verbs", "sit bark run"),
            ("targets", "B-A0 I-A0 B-V I-V B-AM-X I-AM-X O"),
        ):
            (tmp_path / name).write_text(lines.replace(" ", "\n") + "\n")
        return T.Conll05st(data, *(str(tmp_path / n) for n in ("words", "verbs", "targets", "emb")))

    return make


def test_conll05(conll):
    data = conll(
        "-  (A0*\n-  *)\nsit  (V*)\n-  *\n\n-  (A0*)  (A0*)\nbark  (V*)  *\n-  *  *\nrun  *  (V*)\n\n",
    )
    four = lambda k: [k] * 4  # noqa: E731
    assert items(data)[:2] == [
        [[4, 2, 3, 0], four(4), four(2), four(3), four(0), four(6), four(0), four(1), [0, 1, 4, 6]],
        [[0, 0, 7, 0], four(5), four(0), four(0), four(7), four(0), four(1), four(1), [0, 4, 6, 6]],
    ]
    assert items(data)[2][7] == [0, 1, 1, 1] and data.get_dict()[1] == {"sit": 0, "bark": 1, "run": 2}
    assert data.predicates == ["sit", "bark", "run"] and data.get_embedding().endswith("emb")
    for broken in ("-  (A0*\n", "-  *\n-  *\nsit  *\n-  *\n\n-\n-\n-\n-\n", "-\n-\nsit\n-\n\n-\n-\n-\n-\n"):
        with pytest.raises(ValueError, match="damaged"):
            conll(broken)


def test_missing_and_wrong_files(tmp_path, monkeypatch, tar):
    monkeypatch.setenv("PADDLE_HOME", str(tmp_path / "home"))
    sized = dict(dict_size=5), dict(src_dict_size=5, trg_dict_size=5)
    makers = [
        T.Imdb,
        lambda **k: T.Imikolov(data_type="SEQ", **k),
        T.Movielens,
        T.UCIHousing,
        lambda **k: T.WMT14(**sized[0], **k),
        lambda **k: T.WMT16(**sized[1], **k),
        T.Conll05st,
    ]
    wrong, damaged = tar("wrong.tgz", {"other": "x"}), tmp_path / "damaged"
    damaged.write_bytes(b"\x00\x01 no archive")
    for make in makers:
        with pytest.raises(RuntimeError, match="put it there as"):
            make(download=False)
        with pytest.raises(FileNotFoundError, match="nowhere"):
            make(data_file="nowhere") if make is not T.Conll05st else make(*["nowhere"] * 5)
        if make is not T.Conll05st:
            for path in (wrong, str(damaged)):
                with pytest.raises(ValueError, match=r"wrong\.tgz|damaged"):
                    make(data_file=path)
            if make not in (makers[1], makers[4], makers[5]):
                with pytest.raises(ValueError, match="mode must be"):
                    make(mode="zzz")
