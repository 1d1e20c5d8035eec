"""Documents of several kinds, made for tests."""

import io
import zipfile

import openpyxl
import pptx
import pypdf
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

WORD = """<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>
<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>Report</w:t></w:r></w:p>
<w:p><w:r><w:rPr><w:b/></w:rPr><w:t>bold</w:t></w:r><w:r><w:t xml:space="preserve"> and plain</w:t></w:r></w:p></w:body></w:document>"""
STYLES = """<w:styles xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">
<w:style w:type="paragraph" w:styleId="Heading1"><w:name w:val="heading 1"/></w:style></w:styles>"""
RELATION = '<Relationship Id="{}" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/{}" Target="{}"/>'
RELATIONS = '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{}</Relationships>'
TYPES = """<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>
<Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/>
<Override PartName="/word/styles.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.styles+xml"/></Types>"""


def a_pdf(*pages: str, password: str | None = None) -> bytes:
    """A PDF with a line of text on each page."""
    writer = pypdf.PdfWriter()
    for text in pages:
        page = writer.add_blank_page(200, 200)
        names = {"/Type": "/Font", "/Subtype": "/Type1", "/BaseFont": "/Helvetica"}
        font = DictionaryObject({NameObject(key): NameObject(value) for key, value in names.items()})
        page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): DictionaryObject({NameObject("/F1"): font})})
        stream = DecodedStreamObject()
        stream.set_data(f"BT /F1 12 Tf 10 100 Td ({text}) Tj ET".encode())
        page[NameObject("/Contents")] = stream
    if password:
        writer.encrypt(password, algorithm="RC4-128")
    file = io.BytesIO()
    writer.write(file)
    return file.getvalue()


def a_word_document() -> bytes:
    """A heading and a line, of which the first word is bold."""
    return an_archive(
        {
            "[Content_Types].xml": TYPES,
            "_rels/.rels": RELATIONS.format(RELATION.format("r1", "officeDocument", "word/document.xml")),
            "word/_rels/document.xml.rels": RELATIONS.format(RELATION.format("r1", "styles", "styles.xml")),
            "word/document.xml": WORD,
            "word/styles.xml": STYLES,
        }
    )


def a_table() -> bytes:
    """A workbook with one sheet."""
    book = openpyxl.Workbook()
    sheet = book.worksheets[0]
    sheet.title = "Prices"
    for row in (["name", "price"], ["a|b", 1], ["two\nlines", None]):
        sheet.append(row)
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def some_slides() -> bytes:
    """A presentation of one slide."""
    show = pptx.Presentation()
    slide = show.slides.add_slide(show.slide_layouts[1])
    slide.shapes.title.text = "Title"
    slide.placeholders[1].text = "Point"
    file = io.BytesIO()
    show.save(file)
    return file.getvalue()


def an_archive(members: dict[str, str]) -> bytes:
    """A zip archive of texts."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return file.getvalue()
